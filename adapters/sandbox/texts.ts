/** Texts for processes, of values that an expression may have given. */
import type { ProcessPolicy } from '../../contracts/process-policy.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { SandboxRequest } from './container-spec.ts';

export function textsOf(values: unknown): string[] {
  return Array.isArray(values) ? values.map(textOf) : [];
}

export function environmentOf(values: unknown): Record<string, string> {
  if (!isRecord(values)) return {};
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]));
}

/** An expression can give any value: text as it is, nothing as the empty text, others as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** As a shell runs a command with arguments, which are `$1` and so on. */
export function shellOf(command: unknown): string[] {
  return ['/bin/sh', '-c', textOf(command), 'sh'];
}

/** As the definition asks, which has been checked. */
export function pullOf(containers: ProcessPolicy['containers'], asked: unknown): SandboxRequest['pull'] {
  if (asked === 'never' || asked === 'ifNotPresent' || asked === 'always') return asked;
  return containers?.pull === 'never' ? 'never' : 'ifNotPresent';
}

export function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1);
}
