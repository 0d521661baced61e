/** Runs a script, a container or a shell command, and returns what the task asks for. */
import type {
  Invoked,
  ProcessReturn,
  RunActivities,
  RunProcessInput,
  Written,
} from '../contracts/activities.ts';
import { fault } from '../contracts/fault.ts';
import type { ProcessResult, ProcessStream } from '../domain/ports.ts';
import type { ProcessDeps } from './deps.ts';
import { isLost } from './files-of-run.ts';
import { invokeOnce } from './invocation.ts';
import { processFiles } from './process-files.ts';
import { logFiles, processLog } from './process-log.ts';
import { declaredSecrets, withDeferred } from './secret-arguments.ts';

/** Characters of a stream in the run's log, from its end, of a process that was too quick for a live log. */
const LOGGED = 8 * 1024;
/** Characters of standard error in an error's text. */
const QUOTED = 500;

const WHOLE: Record<ProcessReturn, readonly ProcessStream[]> = {
  stdout: ['stdout'],
  stderr: ['stderr'],
  all: ['stdout', 'stderr'],
  code: [],
  none: [],
};

export function runProcessActivity(deps: ProcessDeps): RunActivities['runProcess'] {
  return (input) => {
    const secret = declaredSecrets(deps, input);
    return invokeOnce(deps, input, {
      pin: null,
      identity: [input.process, input.return, input.with, input.deferred, input.secrets],
      prepare: async () => {},
      idempotent: () => true,
      // A script leaves nothing, and repeating it does no harm.
      ...(isJavaScript(input) ? {} : { stored: (key) => deps.processes.release(key) }),
      async call(calling) {
        const { args, sensitive } = await withDeferred(input, secret);
        const result = await deps.processes
          .run({
            kind: input.process,
            log: processLog(deps, input, calling),
            files: processFiles(deps, input.run_id, calling.idempotencyKey),
            with: args,
            whole: WHOLE[input.return],
            sensitive,
            timeoutMs: input.timeout_ms,
            secret,
            ...calling,
          })
          .catch((error: unknown) => {
            throw isLost(error) ? fault('runtime', `A file cannot be read: ${error.message}`) : error;
          });
        await logFiles(deps, input, result.files ?? []);
        return outcome(input, result);
      },
    });
  };
}

function isJavaScript({ process, with: configured }: RunProcessInput): boolean {
  return process === 'script' && configured['language'] !== 'python';
}

/**
 * A process that fails is an error, unless the task asks for the exit code or for what the process says about
 * its failure.
 */
function outcome({ return: returned, process }: RunProcessInput, result: ProcessResult): Invoked {
  const { code, stderr } = result;
  if (code !== 0 && (returned === 'stdout' || returned === 'none')) {
    const stderrTail = stderr.trim().slice(-QUOTED);
    throw fault(
      'runtime',
      `The ${process} ended with exit code ${code}${stderrTail === '' ? '' : `: ${stderrTail}`}`,
    );
  }
  const { logged, warnings } = result;
  return {
    output: outputOf(returned, result),
    ...(logged ? {} : { written: writtenOf(returned, result) }),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

function outputOf(returned: ProcessReturn, { code, stdout, stderr, files }: ProcessResult): unknown {
  switch (returned) {
    case 'stdout':
      return stdout;
    case 'stderr':
      return stderr;
    case 'code':
      return code;
    case 'all':
      return { code, stdout, stderr, ...(files === null ? {} : { files }) };
    case 'none':
      return null;
  }
}

function writtenOf(returned: ProcessReturn, result: ProcessResult): Written[] {
  return (['stdout', 'stderr'] as const).flatMap((stream) => {
    const text = result[stream].trimEnd();
    if (text === '' || WHOLE[returned].includes(stream)) return [];
    return [{ stream, text: text.slice(-LOGGED), cut: text.length > LOGGED || result.cut.includes(stream) }];
  });
}
