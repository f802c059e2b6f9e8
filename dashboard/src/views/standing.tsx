/** The view Standing approvals: what runs without a question, and who allowed it. */

import { useSignal } from '@preact/signals';
import type { StandingAnswer, StandingApproval } from '../../../src/operator/board/answers.ts';
import { apiPost, errorText } from '../api.ts';
import { DataTable } from '../components/data-table.tsx';
import { CommandLine, EmptyState, ErrorNote, LoadingNote } from '../components/empty-state.tsx';
import { Ago } from '../components/time.tsx';
import { useResource } from '../live/resource.ts';
import { describeRule } from '../logic/card-words.ts';
import { encodePart } from '../logic/route.ts';
import { announce, isOperator } from '../state.ts';
import type { View } from './view.ts';

const columns = ['Chain', 'Step', 'Rules', 'Given by', 'When'];

function Standing() {
  const busy = useSignal('');
  const { loaded, reload } = useResource<StandingAnswer>('/api/standing', ({ type }) => type.startsWith('standing-'));
  const { value, error } = loaded.value;
  const revoke = async ({ id, chain, step }: StandingApproval) => {
    busy.value = id;
    try {
      await apiPost(`/api/standing/${encodePart(id)}/revoke`);
      announce(`Revoked: ${nameStep(chain, step)} asks again.`, 'good');
    } catch (thrown) {
      announce(errorText(thrown), 'bad');
    }
    await reload();
    busy.value = '';
  };
  if (value === undefined) return error === undefined ? <LoadingNote /> : <ErrorNote text={error} onRetry={reload} />;
  if (value.standing.length === 0) {
    return (
      <EmptyState icon="check" title="No standing approvals.">
        <p>“Approve always” on a question of a chain puts one here. The same in a terminal:</p>
        <CommandLine text="switchgear inbox approve ID --for always" />
      </EmptyState>
    );
  }
  return (
    <>
      {error !== undefined && <ErrorNote text={error} onRetry={reload} />}
      <div class="stacked">
        <DataTable name="Standing approvals" columns={isOperator.value ? [...columns, 'Actions'] : columns}>
          {value.standing.map((approval) => (
            <tr key={approval.id}>
              <th scope="row">
                {approval.chain}
                {approval.file !== undefined && <div class="dim file">{approval.file}</div>}
              </th>
              <td data-name="Step">{approval.step === '' ? 'the whole run' : approval.step}</td>
              <td data-name="Rules" class="wrap is-full">
                {approval.rules.map((rule) => (
                  <div key={rule}>
                    <code title={rule}>{describeRule(rule).text}</code>
                  </div>
                ))}
              </td>
              <td data-name="Given by">{approval.by}</td>
              <td data-name="When">
                <Ago wallMs={approval.givenWallMs} />
              </td>
              {isOperator.value && (
                <td class="is-full">
                  <button
                    type="button"
                    class="danger small"
                    disabled={busy.value === approval.id}
                    aria-label={`Revoke: ${nameStep(approval.chain, approval.step)}`}
                    onClick={() => void revoke(approval)}
                  >
                    Revoke
                  </button>
                </td>
              )}
            </tr>
          ))}
        </DataTable>
      </div>
    </>
  );
}

function nameStep(chain: string, step: string): string {
  return step === '' ? chain : `${chain}, step ${step}`;
}

export const standingView: View = { id: 'standing', title: 'Standing approvals', Component: Standing };
