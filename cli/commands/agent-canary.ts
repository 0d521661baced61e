/** A version that gets a share of an agent's calls, and the figures of its versions. */
import type { AgentStats } from '../../client/index.ts';
import { AGENT, VERSION } from '../core/agents.ts';
import { argument, command } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { count } from '../core/flags.ts';
import { agentId } from '../core/names.ts';
import { lengthText } from '../core/runs.ts';
import type { View } from '../core/table.ts';

type VersionStats = AgentStats['versions'][number];

const latency = (ms: number | null): string => (ms === null ? '' : lengthText(ms));

const statsView: View<VersionStats> = {
  columns: [
    ['version', ({ version }) => version],
    ['calls', ({ calls }) => calls],
    ['faults', ({ faults }) => faults],
    ['p50', (row) => latency(row.latency_p50_ms)],
    ['p95', (row) => latency(row.latency_p95_ms)],
    ['cost', (row) => (row.cost_usd === null ? 'unknown' : `${row.cost_usd} USD`)],
  ],
  name: ({ version }) => version,
  none: 'No calls.',
};

export const canary = command({
  brief: 'Show the canary of an agent, and what the calls of each version have come to',
  flags: { hours: count('Of the calls in the last hours (default 24, at most 168)') },
  arguments: [AGENT],
  run: async (cli, { hours }, given) => {
    const path = { id: await agentId(cli, given) };
    const stats = await cli.client.call('getAgentStats', { path, query: { hours }, signal: cli.signal });
    if (!cli.out.hasLines) return cli.out.value(stats);
    const { canary: now, versions } = stats;
    cli.say(
      now === null
        ? 'No canary: cadenza agent set-canary AGENT VERSION PERCENT'
        : `${now.version} gets ${now.percent} % of the calls, and is ${now.status ?? 'gone'}.`,
    );
    return cli.out.list(versions, statsView);
  },
});

export const setCanary = command({
  brief: 'Give a version a share of the calls of an agent that name no version',
  details: 'It takes calls while it is published. Set it before you publish, so that it never takes all.',
  arguments: [AGENT, VERSION, argument('PERCENT', 'Such as 10')],
  run: async (cli, _flags, given, version, share) => {
    const percent = Number(share);
    if (!(percent > 0 && percent <= 100)) throw usageError(`${share} is no share from 0.01 to 100.`);
    const path = { id: await agentId(cli, given) };
    const body = { version, percent };
    await cli.out.value(await cli.client.call('setAgentCanary', { path, body, signal: cli.signal }));
  },
});

export const endCanary = command({
  brief: 'End the canary of an agent: the highest published version gets all calls',
  arguments: [AGENT],
  hasData: false,
  run: async (cli, _flags, given) => {
    const path = { id: await agentId(cli, given) };
    await cli.client.call('deleteAgentCanary', { path, signal: cli.signal });
    cli.say(`Ended the canary of ${given}.`);
  },
});
