"""What every benchmark writes: bench/results/NAME.json."""
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return {"cpu": model, "cores": os.cpu_count()}


def write(name, rows):
    path = os.path.join(ROOT, "bench/results", name + ".json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump({"bench": name, "machine": machine(), "rows": rows}, file, indent=1)
    return path
