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
  // A run and a proxy are a few: an agent waits until they are loaded.
  var isRun = process.argv[2] === 'run' || process.argv[2] === 'mcp';
  var isBuilt = !fs.existsSync(source);
  var built = path.join(__dirname, '../dist/cli', isRun ? 'run.js' : 'main.js');
  var hook = isHook && isBuilt ? loadHook(fs, path, folder) : undefined;
  (hook || require(isBuilt ? built : source)).main(process.argv.slice(2)).then(function setCode(code) {
    // Output that could not be written has set a code already.
    process.exitCode = code || process.exitCode;
    if (hook) hook.store();
    if (isHook) process.exit();
  });
}

// Loads the file of the hook with the code that earlier hooks compiled. The cache of Node has only what is compiled
// before a file runs: no functions, and compiling these takes longer than running them.
function loadHook(fs, path, folder) {
  var vm = require('node:vm');
  var file = path.join(__dirname, '../dist/cli/hook.cjs');
  var text = fs.readFileSync(file, 'utf8');
  // The file begins with a digest of itself. The time shows a change that somebody made by hand.
  var parts = ['hook', process.version, process.arch, text.slice(2, 34), fs.statSync(file).mtimeMs.toString(36)];
  var name = folder && !process.env.NODE_DISABLE_COMPILE_CACHE ? path.join(folder, parts.join('-')) : undefined;
  var stored = name && readCode(fs, name);
  var options = { filename: file, importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };
  if (stored) options.cachedData = stored.code;
  var script = new vm.Script(text, options);
  var module = { exports: {} };
  script.runInThisContext()(module.exports, require, module, file);
  // Options of Node may have changed what V8 accepts; hooks with other options keep their code.
  var isDue = !stored || Math.random() < (script.cachedDataRejected ? 1 / 8 : stored.times < 8 ? 1 : 1 / 128);
  return {
    main: module.exports.main,
    store: function store() {
      if (name && isDue) writeCode(fs, path, name, script.createCachedData(), stored ? stored.times + 1 : 1);
    },
  };
}

// The code is stored twice, since V8 runs it unchecked: it must not be damaged. The last byte says how often it was
// stored: each time, the functions that another event uses are added.
function readCode(fs, name) {
  var isOwn, bytes, length, code;
  try {
    isOwn = !process.getuid || fs.statSync(name).uid === process.getuid();
    bytes = fs.readFileSync(name);
  } catch (_) {
    return undefined; // Not stored yet.
  }
  length = (bytes.length - 1) / 2;
  code = bytes.subarray(0, length);
  if (!isOwn || bytes.length % 2 === 0 || !code.equals(bytes.subarray(length, -1))) return undefined;
  return { code: code, times: bytes[bytes.length - 1] };
}

function writeCode(fs, path, name, code, times) {
  var unfinished = [name, process.pid].join('-');
  var bytes = Buffer.concat([code, code, Buffer.from([Math.min(times, 255)])]);
  try {
    fs.mkdirSync(path.dirname(name), { recursive: true });
    fs.writeFileSync(unfinished, bytes, { flag: 'wx', mode: 384 });
    fs.renameSync(unfinished, name);
  } catch (_) {
    removeFile(fs, unfinished); // The next hook compiles again.
  }
}

function removeFile(fs, name) {
  try {
    fs.unlinkSync(name);
  } catch (_) {
    return; // It was never made.
  }
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
