import type { FrameworkConfiguration } from '../../contracts/agent-kinds/framework.ts';
import type { AgentCall } from '../../domain/ports.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import type { CallGuard } from '../guarded-call.ts';

/** What a call of either framework works with. */
export interface FrameworkCall {
  egress: EgressPolicy;
  call: AgentCall;
  configuration: FrameworkConfiguration;
  guard: CallGuard;
  /** With secrets. */
  url: URL;
  /** Credentials among them; names are in lower case. */
  headers: Record<string, string>;
}
