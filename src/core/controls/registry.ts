/** Every control, in one list. A new control is one file and one line here: see docs/guides/add-a-control.md. */

import type {
  CodeDeclaration,
  ControlDeclaration,
  PanelDeclaration,
  SectionDeclaration,
} from '../declare/control-declaration.ts';
import { stoppedTexts } from '../declare/refusal-texts.ts';
import type { Camel, SettingsOf } from '../declare/setting.ts';
import { toSnakeCase } from '../names.ts';
import { breakerDeclaration } from './breaker/declaration.ts';
import { budgetDeclaration } from './budget/declaration.ts';
import { deadlineDeclaration } from './deadline.ts';
import { delegationDeclaration } from './delegation/declaration.ts';
import { denialsDeclaration } from './denials.ts';
import { gatewayCodes, guardCodes, mcpCodes, operatorCodes } from './engine-codes.ts';
import { loopDeclaration } from './loop/declaration.ts';
import { rulesDeclaration } from './rules/declaration.ts';
import { stormDeclaration } from './storm.ts';

/** In the order of the published list of codes: new controls come last. Of equal verdicts, the first is reported. */
const registry = [
  breakerDeclaration,
  budgetDeclaration,
  deadlineDeclaration,
  loopDeclaration,
  denialsDeclaration,
  delegationDeclaration,
  rulesDeclaration,
  stormDeclaration,
  operatorCodes,
  guardCodes,
  mcpCodes,
  gatewayCodes,
] as const;

type Declared = (typeof registry)[number];

/** Declarations with codes only (operator, engine) are not controls. */
const isControl = (declared: Declared) => 'summary' in declared;

/** Every control, for tables and pages. */
export const controlDeclarations: readonly ControlDeclaration[] = registry.filter(isControl);

/** The controls that the panel binds by their scope. The engine binds the others: breaker, delegation, rules. */
export const panelDeclarations: readonly PanelDeclaration[] = registry.filter((declared) => 'create' in declared);

/** The declared type of every control that the panel binds. */
export type PanelDeclared = Extract<Declared, { readonly create: unknown }>;

type CodesOf<D> = D extends { readonly codes: infer C } ? keyof C & string : never;

/** The code of a refusal. */
export type Code = CodesOf<Declared>;

/** The declaration of a code, with the control that makes it. */
export interface DeclaredCode extends CodeDeclaration {
  readonly control: string;
}

/** The declaration of a code; a general one for a code of a custom control or of a newer version. */
export function findCode(code: string): DeclaredCode {
  for (const { name, codes: declared } of registry) {
    if (Object.hasOwn(declared, code)) return { ...(declared as CodeTable)[code]!, control: name };
  }
  return unknownCode;
}

type CodeTable = Readonly<Record<string, CodeDeclaration>>;

const unknownCode: DeclaredCode = {
  control: 'unknown',
  kind: 'deny, halt',
  means: 'a control of your own refused it',
  remedy: 'see the control',
  texts(context) {
    const summary = context.reason ?? `'${context.name}' was refused`;
    return stoppedTexts(context, summary, 'Do not repeat the call. Ask the user how to go on.');
  },
};

/** The settings that change when a code comes, as paths of a policy. */
export function listSettingsOf(code: string): readonly string[] {
  const { raises, settings = [] } = findCode(code);
  return raises === undefined ? settings : [`task.${toSnakeCase(raises)}`, ...settings];
}

/** The codes of refusals. Part of the API: never renamed, only added to. */
export const codes = registry.flatMap(({ codes: declared }) => Object.keys(declared)) as readonly Code[];

/** The sections of the controls; a name may occur several times, with other fields. */
export const controlSections: readonly SectionDeclaration[] = controlDeclarations.flatMap(
  ({ section }) => section ?? [],
);

/** The sections whose types are written out in `Settings`. */
type WrittenSection = 'circuit_breaker' | 'task' | 'loop' | 'delegation' | 'rule_settings';

type SectionOf<D> = D extends { readonly section: infer S extends SectionDeclaration } ? S : never;

/** The settings of all other controls, typed by their fields. */
export type DeclaredSections = {
  readonly [S in SectionOf<Declared> as S['name'] extends WrittenSection ? never : Camel<S['name']>]: SettingsOf<
    S['fields']
  >;
};
