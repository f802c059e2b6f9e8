/**
 * Texts that try to run as markup or script, to steer a terminal, or to end the format that carries them: bases times
 * contexts. A script that runs sets the global `hostileFlag`.
 */

/** One text with a name that says where it comes from. */
export interface HostileString {
  readonly name: string;
  readonly text: string;
}

/** The property of `globalThis` that a script sets if it runs. */
export const hostileFlag = 'hostileStringRan';

const run = `globalThis.${hostileFlag}=1`;
const ESC = '\u001b';
const CSI = '\u009b';
const BEL = '\u0007';

const bases: Readonly<Record<string, string>> = {
  script: `<script>${run}</script>`,
  'script with a source': `<script src="data:text/javascript,${run}"></script>`,
  'mixed case script': `<ScRiPt>${run}</sCrIpT>`,
  'module script': `<script type=module>${run}</script>`,
  'image error': `<img src=x onerror="${run}">`,
  'image error without quotes': `<img/src=x/onerror=${run}>`,
  'svg load': `<svg onload="${run}"></svg>`,
  'svg animate': `<svg><animate onbegin="${run}" attributeName=x dur=1s>`,
  'svg script': `<svg><script>${run}</script></svg>`,
  'details toggle': `<details open ontoggle="${run}">x</details>`,
  'input focus': `<input autofocus onfocus="${run}">`,
  'video error': `<video><source onerror="${run}"></video>`,
  'body load': `<body onload="${run}">`,
  iframe: `<iframe src="javascript:parent.${hostileFlag}=1"></iframe>`,
  'iframe document': `<iframe srcdoc="<script>parent.${hostileFlag}=1</script>"></iframe>`,
  object: `<object data="javascript:${run}"></object>`,
  embed: `<embed src="javascript:${run}">`,
  'link to script': `<a href="javascript:${run}">Approve</a>`,
  'script address': `javascript:${run}//`,
  'script address with a tab': `java\tscript:${run}//`,
  'data address': `data:text/html,<script>${run}</script>`,
  'form to elsewhere': '<form action="https://evil.example/"><button>Approve once</button></form>',
  'meta refresh': '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  'base address': '<base href="https://evil.example/">',
  'style import': '<style>@import "https://evil.example/a.css";</style>',
  'style attribute': '<p style="position:fixed;inset:0;background:url(https://evil.example/)">x</p>',
  template: `{{constructor.constructor('${run}')()}}`,
  'template literal': `\${${run}}`,
  'mutated markup': `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  'math markup': `<math><mtext></mtext><mglyph><style></math><img src=x onerror=${run}>`,
  'comment end': `--><script>${run}</script><!--`,
  'CDATA end': `]]><script>${run}</script>`,
  'entity markup': `&lt;script&gt;${run}&lt;/script&gt;`,
  'numeric entities': `&#60;img src=x onerror=${run}&#62;`,
  'full-width brackets': `＜script＞${run}＜/script＞`,
  'null in a tag': `<scr\u0000ipt>${run}</scr\u0000ipt>`,
  'line separator': `x\u2028${run}\u2029`,
  'prototype name': '__proto__',
  'Slack mention': '<!channel> <!here> <@U024BE7LH>',
  'Slack link': '<https://evil.example/|Approve in Switchgear>',
  'Markdown link': `[Approve](javascript:${run}) ![x](https://evil.example/x.png)`,
  'metric injection': 'x"} 1\nswitchgear_store_up 0\nswitchgear_breaker_trip_count{breaker="y',
  'event injection': 'x\n\nevent: entry\ndata: {"type":"card-changed"}\n\n',
  'header injection': 'x\r\nSet-Cookie: switchgear=1\r\n\r\n<script>',
  'JSON end': '"}],"cards":[{"id":"x","state":"open',
  'clear screen': `${ESC}[2J${ESC}[H`,
  'red text': `${ESC}[31mapproved by Ann${ESC}[0m`,
  'one-byte control': `${CSI}31mapproved${CSI}0m`,
  'window title': `${ESC}]0;owned${BEL}`,
  'terminal link': `${ESC}]8;;https://evil.example/${ESC}\\Approve${ESC}]8;;${ESC}\\`,
  clipboard: `${ESC}]52;c;cm0gLXJmIH4=${BEL}`,
  'cursor report': `${ESC}[6n${ESC}[c`,
  'alternate screen': `${ESC}[?1049h${ESC}[?25l`,
  'device string': `${ESC}P+q544e${ESC}\\`,
  'carriage return': 'rm -rf /\rls            ',
  backspace: `rm -rf /${'\b'.repeat(8)}ls -la  `,
  'right to left': 'invoice\u202efdp.exe\u2066\u202c',
  'zero width': 'ap\u200bpro\u200dve\ufeff',
  'tag characters': `ok${[...'approve'].map((each) => String.fromCodePoint(0xe0000 + each.charCodeAt(0))).join('')}`,
  'lone surrogate': 'x\ud800y',
};

const contexts: Readonly<Record<string, (text: string) => string>> = {
  alone: (text) => text,
  'after a double quote': (text) => `">${text}`,
  'after a single quote': (text) => `'>${text}`,
  'in an attribute': (text) => `x" onmouseover="${run}" y="${text}`,
  'after a closing tag': (text) => `</title></textarea></script>${text}`,
  'after a comment': (text) => `-->${text}`,
  'on a new line': (text) => `read_file\n${text}`,
  'after an escape': (text) => `${ESC}[8m${text}`,
  'after a backslash': (text) => `\\${text}\\`,
  'in words': (text) => `the tool ${text} failed`,
};

/** All strings: 600, each shorter than 250 characters. */
export const hostileStrings: readonly HostileString[] = Object.entries(contexts).flatMap(([place, wrap]) =>
  Object.entries(bases).map(([name, text]) => ({ name: `${name}, ${place}`, text: wrap(text) })),
);
