import type { A2aConfiguration } from '../../contracts/agent-kinds/a2a.ts';
import type { AgentCall } from '../../domain/ports.ts';
import type { Sensitive } from '../secrets/sensitive.ts';

/** What all steps of one call of an agent share. */
export interface Conversation {
  /** Its `timeoutMs` is that of the configuration, if it has one. */
  call: AgentCall;
  configuration: A2aConfiguration;
  sensitive: Sensitive;
  /** Aborts when the call is cancelled, and at its time limit. */
  signal: AbortSignal;
}
