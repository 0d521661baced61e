import { LOG_TEXT } from '../../contracts/log-texts.ts';
import type { PinnedAgent } from '../ports.ts';

/** The warnings for a run's log when it uses a deprecated agent or a deprecated version. */
export function deprecations(agent: PinnedAgent, status: string): string[] {
  return [
    ...(status === 'deprecated' ? [LOG_TEXT.runWarning.deprecatedAgent(agent.name)] : []),
    ...(agent.version_status === 'deprecated'
      ? [LOG_TEXT.runWarning.deprecatedVersion(agent.name, agent.version)]
      : []),
  ];
}
