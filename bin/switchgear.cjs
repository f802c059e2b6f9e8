#!/usr/bin/env node
// The command. Old syntax on purpose: an old Node must be able to read this file and say what is missing.

var needed = [22, 18];
var have = process.versions.node.split('.').map(Number);

if (have[0] < needed[0] || (have[0] === needed[0] && have[1] < needed[1])) {
  // biome-ignore lint/style/useTemplate: templates are newer than the oldest Node that may read this.
  console.error('switchgear needs Node ' + needed.join('.') + ' or newer; this is Node ' + process.versions.node + '.');
  process.exitCode = 1;
} else {
  hideExperiments();
  start();
}

// Some versions of Node call SQLite experimental, and sources of a checkout too: whoever runs the command has no choice
// in either. Every other warning is printed as Node prints it.
function hideExperiments() {
  process.listeners('warning').forEach(function replace(print) {
    process.removeListener('warning', print);
    process.on('warning', function printOthers(warning) {
      var isExperiment = warning.name === 'ExperimentalWarning';
      if (!isExperiment || !/^(SQLite|Type Stripping) is/.test(warning.message)) print.call(process, warning);
    });
  });
}

function start() {
  var fs = require('node:fs');
  var path = require('node:path');
  // What was read once need not be compiled again: hooks start this many times a minute.
  var folder = cacheFolder(path);
  if (folder !== undefined) require('node:module').enableCompileCache(folder);
  // A checkout runs its source, whatever was built from it once; a package has only what was built.
  var source = path.join(__dirname, '../src/cli/main.ts');
  // A hook is one file, and ends as soon as it has answered: an agent waits for it.
  var isHook = process.argv[2] === 'hook';
  // A run is a few: an agent waits until they are loaded.
  var isRun = process.argv[2] === 'run';
  var built = path.join(__dirname, '../dist/cli', isHook ? 'hook.cjs' : isRun ? 'run.js' : 'main.js');
  require(fs.existsSync(source) ? source : built)
    .main(process.argv.slice(2))
    .then(function setCode(code) {
      // Output that could not be written has set a code already.
      process.exitCode = code || process.exitCode;
      if (isHook) process.exit();
    });
}

// A folder of the user's own: in one that all users share, anybody could lay code that is then run.
function cacheFolder(path) {
  var cache = process.env.XDG_CACHE_HOME || '';
  try {
    return path.join(path.isAbsolute(cache) ? cache : path.join(require('node:os').homedir(), '.cache'), 'switchgear');
  } catch (_) {
    return undefined; // Nobody knows where this user is at home.
  }
}
