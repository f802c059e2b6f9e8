/** Every section of the policy with its fields: those of the controls, then those of the parts around them. */

import type { SectionDeclaration } from '../declare/control-declaration.ts';
import { generalSections } from '../declare/general-sections.ts';
import type { SectionFields } from '../declare/setting.ts';
import { noticeFields, taskSection } from '../declare/task-section.ts';
import { controlSections } from './registry.ts';

function mergeSections(declared: readonly SectionDeclaration[]): Readonly<Record<string, SectionDeclaration>> {
  const merged: Record<string, SectionDeclaration> = {};
  for (const section of declared) {
    const before = merged[section.name];
    merged[section.name] = before ? { ...before, fields: { ...before.fields, ...section.fields } } : section;
  }
  return merged;
}

/** Every section with its meaning, by its name in files. */
export const sectionDeclarations = mergeSections([
  ...controlSections,
  { ...taskSection, fields: noticeFields },
  ...generalSections,
]);

/** The fields of every section, by its name in files. */
export const sections: Readonly<Record<string, SectionFields>> = Object.fromEntries(
  Object.entries(sectionDeclarations).map(([name, { fields }]) => [name, fields]),
);

/** The fields that an agent's task may override. */
export const taskFields: SectionFields = sections.task!;
