/** `run: script`, `run: container` and `run: shell`: checks what the installation allows, and runs it. */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { refusals, type ProcessPolicy } from '../../contracts/process-policy.ts';
import type { ProcessCall, ProcessResult, ProcessRunner } from '../../domain/ports.ts';
import { withoutSecrets } from '../call-settings.ts';
import { createTokenSource } from '../authentication/oauth-token.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { createHttpCaller } from '../http/call-http.ts';
import { createSensitive } from '../secrets/sensitive.ts';
import { createScriptRunner, type ScriptSettings } from './run-script.ts';

export interface ProcessSettings {
  policy: ProcessPolicy;
  scripts: ScriptSettings;
}

/** Of standard output and standard error each; of the code of a script, too. */
const MAX_BYTES = 1024 * 1024;

export function createProcessRunner(
  egress: EgressPolicy,
  { policy, scripts }: ProcessSettings,
): ProcessRunner {
  const runner = createScriptRunner(scripts);
  const http = createHttpCaller({ egress, tokens: createTokenSource(egress) });

  const script = async (call: ProcessCall): Promise<ProcessResult> => {
    const { stdin, arguments: argv, environment } = call.with;
    return runner.run(
      {
        code: await codeOf(call),
        argv: textsOf(argv),
        env: environmentOf(environment),
        stdin: textOf(stdin),
        timeoutMs: call.timeoutMs,
        outputBytes: MAX_BYTES,
        whole: call.whole,
      },
      call.signal,
    );
  };

  const codeOf = async (call: ProcessCall): Promise<string> => {
    const { code, source } = call.with;
    if (typeof code === 'string') return code;
    const request = {
      method: 'get',
      endpoint: isRecord(source) ? source['endpoint'] : undefined,
      output: 'raw',
      redirect: true,
    };
    const { output } = await http.http({ ...call, with: request });
    const bytes = Buffer.from(String(output), 'base64');
    if (bytes.length > MAX_BYTES) throw fault('configuration', `The script has more than ${MAX_BYTES} bytes`);
    return bytes.toString('utf8');
  };

  return {
    async run(call) {
      const [refused] = refusals(call.kind, call.with, policy);
      if (refused) throw fault('configuration', sentence(refused.message));
      const sensitive = createSensitive();
      for (const value of call.sensitive ?? []) sensitive.protect(value, '<SECRET>');
      const clean = (text: string): string => String(sensitive.clean(text));
      try {
        const { code, stdout, stderr, cut } = await script(call);
        return { code, stdout: clean(stdout), stderr: clean(stderr), cut };
      } catch (error) {
        throw withoutSecrets(error, sensitive);
      }
    },
  };
}

function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1);
}

function textsOf(values: unknown): string[] {
  return Array.isArray(values) ? values.map(textOf) : [];
}

function environmentOf(values: unknown): Record<string, string> {
  if (!isRecord(values)) return {};
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]));
}

/** An expression can give any value: text as it is, nothing as the empty text, others as JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
