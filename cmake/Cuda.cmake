# The CUDA toolkit. Code is made for Hopper (9.0a: wgmma and the bulk copy engine are not in plain 9.0).
find_program(RLFLOW_NVCC nvcc HINTS /usr/local/cuda/bin REQUIRED)
set(CMAKE_CUDA_COMPILER ${RLFLOW_NVCC})
set(CMAKE_CUDA_ARCHITECTURES 90a)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared) # as libtorch has it: one runtime in the process
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
enable_language(CUDA)
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20") # CMake 3.25 does not know that nvcc 13 has it
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)
