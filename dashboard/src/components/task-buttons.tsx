/** The orders of a person to a task: halt, pause, resume. The effect is read back from the store. */

import { useSignal } from '@preact/signals';
import type { OperatorTask } from '../../../src/operator/board/answers.ts';
import { apiPost, errorText } from '../api.ts';
import type { TasksAnswer } from '../logic/board-answers.ts';
import { encodePart } from '../logic/route.ts';
import { describeTaskEffect, isWaiting, type TaskEffect, tasksLook } from '../logic/task-words.ts';
import { announce, isOperator } from '../state.ts';
import { Badge } from './badge.tsx';
import { TextDialog } from './dialog.tsx';

interface TaskButtonsProps {
  readonly task: OperatorTask;
  readonly pauses: TasksAnswer['pauses'];
  readonly onChange: () => Promise<void>;
  /** Whether the buttons are in the order of the Tab key. */
  readonly isReachable?: boolean;
}

type TaskOrder = 'halt' | 'pause' | 'resume';

export function TaskButtons({ task, pauses, onChange, isReachable = true }: TaskButtonsProps) {
  const isBusy = useSignal(false);
  const isHalting = useSignal(false);
  if (!isOperator.value || task.state === 'halted') return null;
  const isOrdered = pauses.some(({ target }) => target === task.id);
  const isStopped = task.state === 'lost' || isWaiting(task, pauses);
  const give = async (order: TaskOrder, reason = '') => {
    isHalting.value = false;
    isBusy.value = true;
    try {
      const path = `/api/tasks/${encodePart(task.id)}/${order}`;
      announce(
        describeTaskEffect(task.id, order, await apiPost<TaskEffect>(path, reason === '' ? {} : { reason })),
        'good',
      );
    } catch (thrown) {
      announce(errorText(thrown), 'bad');
    }
    await onChange();
    isBusy.value = false;
  };
  const common = { type: 'button', disabled: isBusy.value, tabIndex: isReachable ? 0 : -1 } as const;
  return (
    <span class="row-actions">
      {isOrdered ? (
        <button {...common} class="small" onClick={() => void give('resume')}>
          Resume
        </button>
      ) : (
        !isStopped && (
          <button {...common} class="small" onClick={() => void give('pause')}>
            Pause
          </button>
        )
      )}
      <button {...common} class="small danger" onClick={() => (isHalting.value = true)}>
        Halt…
      </button>
      {isHalting.value && (
        <TextDialog
          title={`Halt ${task.id}`}
          subject="The task and all tasks below it end. Calls that run are given up."
          label="Reason"
          hint="The agent and the journal get it; may stay empty."
          verb="Halt"
          isDangerous={true}
          maxLength={500}
          onSubmit={(text) => void give('halt', text)}
          onClose={() => (isHalting.value = false)}
        />
      )}
    </span>
  );
}

/** The state of a task as word, icon and colour. */
export function TaskState({ task, pauses }: Pick<TaskButtonsProps, 'task' | 'pauses'>) {
  if (isWaiting(task, pauses)) return <Badge tone="info" icon="question" text="Waiting" />;
  const { tone, icon } = tasksLook[task.state];
  return <Badge tone={tone} icon={icon} text={task.state.charAt(0).toUpperCase() + task.state.slice(1)} />;
}
