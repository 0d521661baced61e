/** What the editor asks of its worker, and what that answers. */
import type { Problem } from '../../../../language/definition/problems.ts';
import type { TaskPlace } from './places.ts';

export type Format = 'json' | 'yaml';

export interface Marked extends Pick<Problem, 'pointer' | 'message'> {
  severity: Problem['severity'];
  from: number;
  to: number;
}

export interface Checked {
  /** The definition, with what is wrong in it; without it the text cannot be read. */
  definition?: Record<string, unknown>;
  inputSchema: Record<string, unknown> | boolean | null;
  valid: boolean;
  problems: Marked[];
  tasks: TaskPlace[];
  /** The language in which the text can be read, if it is another one. */
  isIn?: Format;
  /** How long the check took. */
  tookMs: number;
}

export interface Requests {
  /** Reads and checks a text. `known` are problems that the server has found. */
  check: { ask: { text: string; format: Format; name: string; known: Problem[] }; answer: Checked };
  /** The text laid out anew, or in another format; null if it cannot be read. */
  layOut: { ask: { text: string; from: Format; to: Format }; answer: string | null };
  write: { ask: { value: unknown; format: Format }; answer: string };
  /** Whether a text of YAML has comments. */
  hasComments: { ask: { text: string }; answer: boolean };
  evaluate: { ask: { expression: string; input: string }; answer: { output: string } | { problem: string } };
}

export type Request = {
  [Kind in keyof Requests]: { id: number; kind: Kind } & Requests[Kind]['ask'];
}[keyof Requests];
export type Reply = { id: number; answer: unknown } | { id: number; error: string };
