/** Starts an evaluation with a data set from this machine, or one of the stored files. */
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import {
  ApiError,
  type Agent,
  type EvaluateAgentRequest,
  type Evaluation,
} from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { uploadFile } from '../../data/uploads.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import { words } from './evaluation-words.ts';

interface Props {
  agent: Agent;
  onStarted: (evaluation: Evaluation) => void;
}

export function NewEvaluation({ agent, onStarted }: Props) {
  const isOpen = useSignal(false);
  const chosen = useRef<HTMLInputElement>(null);
  const close = () => (isOpen.value = false);
  const start = async (fields: Record<string, unknown>) => {
    const file = chosen.current?.files?.[0];
    const started = await startWith(agent.id, requestOf(fields), file);
    close();
    onStarted(started);
  };
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {words.start}
      </button>
      <Dialog open={isOpen.value} title={words.start} onClose={close}>
        <p class="muted">{words.fileHelp}</p>
        <RecordForm
          id="evaluation"
          sections={[{ id: 'record', member: '', schema: startSchema(agent) }]}
          submit={words.startIt}
          onCancel={close}
          onSubmit={start}
        >
          <label>
            {words.choose} <input ref={chosen} type="file" accept=".csv,.json,.jsonl,.ndjson,text/csv" />
          </label>
        </RecordForm>
      </Dialog>
    </>
  );
}

/** The file is stored first, so the evaluation names it; one that is no data set is removed again. */
async function startWith(
  id: string,
  request: EvaluateAgentRequest,
  file: File | undefined,
): Promise<Evaluation> {
  if (file === undefined) return client.call('evaluateAgent', { path: { id }, body: request });
  const { id: fileId } = await uploadFile(file);
  try {
    return await client.call('evaluateAgent', { path: { id }, body: { ...request, file_id: fileId } });
  } catch (error) {
    if (error instanceof ApiError) await client.call('deleteFile', { path: { id: fileId } }).catch(() => {});
    throw error;
  }
}

function requestOf(fields: Record<string, unknown>): EvaluateAgentRequest {
  const { judge, criteria, versions, ...more } = fields;
  // The form's schema is that of the request, with the judge's fields beside the others.
  return {
    ...more,
    ...(Array.isArray(versions) && versions.length > 0 ? { versions } : {}),
    ...(typeof judge === 'string' && judge !== ''
      ? {
          judge: { agent: judge, ...(typeof criteria === 'string' && criteria !== '' ? { criteria } : {}) },
        }
      : {}),
  } as EvaluateAgentRequest;
}

const startSchema = (agent: Agent) => ({
  type: 'object',
  properties: {
    file_id: { type: 'string', title: words.file },
    name: { type: 'string', title: words.name, maxLength: 200 },
    versions: {
      type: 'array',
      title: words.versions,
      maxItems: 5,
      items: { type: 'string', enum: agent.versions.map(({ version }) => version) },
    },
    judge: { type: 'string', title: words.judge, maxLength: 255 },
    concurrency: {
      type: 'integer',
      title: words.concurrency,
      minimum: 1,
      maximum: 48,
      default: 5,
    },
    criteria: { type: 'string', title: words.criteria, maxLength: 10_000 },
  },
});
