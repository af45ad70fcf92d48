// How does VS Code reach the language server? It starts `rlflow lsp` and speaks to it over the standard streams.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const command = vscode.workspace.getConfiguration("rlflow").get("path");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("rlflow", "rlflow", server, {
    documentSelector: [{ language: "rlflow" }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.rlflow") },
  });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(`rlflow: cannot start "${command} lsp" (${error.message}). Set rlflow.path.`);
  }
}

async function stop() {
  const old = client;
  client = undefined;
  // A server that never started, or has died, has nothing to be stopped.
  if (old && old.isRunning()) await old.stop();
}

exports.activate = async (context) => {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(vscode.commands.registerCommand("rlflow.restart", restart));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("rlflow.path")) restart();
    })
  );
  await start();
};

exports.deactivate = stop;
