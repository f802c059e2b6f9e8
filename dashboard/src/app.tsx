/** The frame of the page: sign-in, banner, navigation, the view of the address, and the status region. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { unreachable } from './api.ts';
import { Dialog } from './components/dialog.tsx';
import { Icon, type IconName } from './components/icon.tsx';
import { addKeys, listKeys } from './keyboard.ts';
import { openCount } from './live/inbox-store.ts';
import { formatRoute, type ViewId } from './logic/route.ts';
import { signIn, signOut } from './session.ts';
import {
  announce,
  connection,
  goTo,
  message,
  preferences,
  route,
  session,
  setPreferences,
  signInReason,
} from './state.ts';
import { views } from './views/registry.ts';

export function App() {
  if (session.value === 'loading') return <p class="loading">Loading…</p>;
  return session.value === 'none' ? <SignIn /> : <Frame />;
}

function SignIn() {
  const isBusy = useSignal(false);
  const box = useRef<HTMLInputElement>(null);
  return (
    <main class="sign-in">
      <form
        class="panel"
        onSubmit={async (event) => {
          event.preventDefault();
          isBusy.value = true;
          await signIn(box.current?.value ?? '');
          isBusy.value = false;
          box.current?.focus();
        }}
      >
        <h1>
          <Logo /> Switchgear
        </h1>
        {signInReason.value !== '' && (
          <p class="error-text" role="alert">
            {signInReason.value}
          </p>
        )}
        <label for="token">Token</label>
        <input id="token" ref={box} type="password" autocomplete="off" required spellcheck={false} />
        <button type="submit" class="primary" disabled={isBusy.value}>
          Sign in
        </button>
        <p class="hint">
          <code>switchgear serve</code> prints an address with a token. For a token of your own, run{' '}
          <code>switchgear serve token add NAME --role operator</code> in a terminal.
        </p>
      </form>
    </main>
  );
}

/** The keys that go to a view. */
const viewKeys: Readonly<Partial<Record<ViewId, string>>> = {
  inbox: 'g i',
  history: 'g h',
  standing: 'g a',
  breakers: 'g b',
  tasks: 'g t',
  chains: 'g c',
  store: 'g s',
};

function Frame() {
  const isHelpOpen = useSignal(false);
  const { view: id, param, query } = route.value;
  const view = views.find((each) => each.id === id)!;
  useEffect(
    () =>
      addKeys([
        { keys: '?', meaning: 'Keyboard help', run: () => (isHelpOpen.value = true) },
        ...views.map(({ id, title }) => ({ keys: viewKeys[id] ?? '', meaning: `Go to ${title}`, run: () => goTo(id) })),
      ]),
    [],
  );
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: The fragment is the address of a view, so a script moves the focus. */}
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <Banner onHelp={() => (isHelpOpen.value = true)} />
      <Navigation current={id} />
      <main id="main" tabIndex={-1}>
        <h1>{view.title}</h1>
        <ConnectionNote />
        <view.Component key={id} {...(param !== undefined && { param })} query={query} />
      </main>
      <Messages />
      {isHelpOpen.value && <KeyboardHelp onClose={() => (isHelpOpen.value = false)} />}
    </>
  );
}

function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M9 24v-6l10-8M9 24h14" />
    </svg>
  );
}

function Banner({ onHelp }: { readonly onHelp: () => void }) {
  const { theme, sound, notifications } = preferences.value;
  const themes = { system: 'light', light: 'dark', dark: 'system' } as const;
  const icons = { system: 'screen', light: 'sun', dark: 'moon' } as const;
  return (
    <header class="banner">
      <a class="brand" href={formatRoute('inbox')}>
        <Logo /> Switchgear
      </a>
      <ConnectionState />
      <div class="tools">
        <Tool icon={icons[theme]} label={`Theme: ${theme}`} onClick={() => setPreferences({ theme: themes[theme] })} />
        <Tool
          icon={sound ? 'sound' : 'silent'}
          label={`Sound: ${sound ? 'on' : 'off'}`}
          isOn={sound}
          onClick={() => setPreferences({ sound: !sound })}
        />
        <Tool
          icon={notifications ? 'bell' : 'bell-off'}
          label={`Notifications: ${notifications ? 'on' : 'off'}`}
          isOn={notifications}
          onClick={() => void toggleNotifications()}
        />
        <Tool icon="keyboard" label="Keyboard help" onClick={onHelp} />
        <Person />
      </div>
    </header>
  );
}

interface ToolProps {
  readonly icon: IconName;
  readonly label: string;
  readonly isOn?: boolean;
  readonly onClick: () => void;
}

function Tool({ icon, label, isOn = false, onClick }: ToolProps) {
  return (
    <button
      type="button"
      class={`quiet icon-only${isOn ? ' on' : ''}`}
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

function Person() {
  if (typeof session.value !== 'object') return null;
  const { name, role } = session.value;
  return (
    <span class="person">
      <span class="person-name" title={`${name} (${role})`}>
        {name} <span class="dim person-role">{role}</span>
      </span>
      <button type="button" class="quiet small" onClick={() => void signOut()}>
        Sign out
      </button>
    </span>
  );
}

async function toggleNotifications(): Promise<void> {
  if (preferences.value.notifications) {
    setPreferences({ notifications: false });
    return;
  }
  const isSupported = typeof Notification !== 'undefined';
  const permission = isSupported ? await Notification.requestPermission() : 'denied';
  if (permission === 'granted') setPreferences({ notifications: true });
  else announce('The browser does not allow notifications of this page. Change it in the settings of the site.', 'bad');
}

function ConnectionState() {
  const { state, reason } = connection.value;
  const texts = {
    connecting: 'Connecting…',
    live: 'Live',
    reconnecting: 'Reconnecting…',
    'store-away': `Store unavailable: ${reason}`,
  };
  return (
    <span class={`connection ${state}`} role="status" aria-label="Connection">
      <span class="connection-dot" aria-hidden="true" />
      <span class="connection-text" title={texts[state]}>
        {texts[state]}
      </span>
    </span>
  );
}

/** How long a connection may be away before the page says that it may be out of date. */
const awayMs = 2_000;

/** Says that the server is away, and what a person can do. */
function ConnectionNote() {
  const isAway = useSignal(false);
  const isReconnecting = connection.value.state === 'reconnecting';
  useEffect(() => {
    isAway.value = false;
    if (!isReconnecting) return;
    const timer = setTimeout(() => (isAway.value = true), awayMs);
    return () => clearTimeout(timer);
  }, [isReconnecting]);
  if (!isAway.value) return null;
  return (
    <div class="error-note">
      <Icon name="alert" />
      <span>
        {unreachable} What is shown may be out of date; the page tries again by itself. If the server has ended, start
        it with <code>switchgear serve</code> and open the address that it prints.
      </span>
    </div>
  );
}

function Navigation({ current }: { readonly current: ViewId }) {
  return (
    <nav class="navigation" aria-label="Main">
      <ul>
        {views.map(({ id, title }) => (
          <li key={id}>
            <a href={formatRoute(id)} aria-current={id === current ? 'page' : undefined}>
              {title}
              {id === 'inbox' && openCount.value > 0 && (
                <>
                  {' '}
                  <span class="count">({openCount})</span>
                </>
              )}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** How long a message stays in view; screen readers have read it by then. */
const messageMs = 12_000;

function Messages() {
  const { text, tone, id } = message.value;
  useEffect(() => {
    if (text === '') return;
    const timer = setTimeout(() => announce(''), messageMs);
    return () => clearTimeout(timer);
  }, [id]);
  return (
    <div class={`messages tone-${tone}${text === '' ? ' empty-message' : ''}`} role="status" aria-label="Messages">
      {text}
    </div>
  );
}

function KeyboardHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard help" onClose={onClose}>
      <table class="keys" aria-label="Keys">
        <tbody>
          {listKeys().map(({ keys, meaning }) => (
            <tr key={keys}>
              <th scope="row">
                {keys.split(' ').map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label class="check">
        <input
          type="checkbox"
          checked={preferences.value.singleKeys}
          onChange={(event) => setPreferences({ singleKeys: event.currentTarget.checked })}
        />
        Use single keys
      </label>
    </Dialog>
  );
}
