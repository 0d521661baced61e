/** The kinds of agents that can be invoked (docs/agents.md). */
import { a2aKind } from './a2a.ts';
import { apiKind } from './api.ts';
import { audioKind } from './audio.ts';
import { edgeKind } from './edge.ts';
import type { AgentKind } from './kind.ts';
import { llmKind } from './llm.ts';
import { visionKind } from './vision.ts';
import { dockerKind } from './docker.ts';
import { frameworkKind } from './framework.ts';
import { sensorKind } from './sensor.ts';
import { workflowKind } from './workflow.ts';

/** By `execution_type`, else `type`. */
export const AGENT_KINDS: Readonly<Record<string, AgentKind>> = {
  api: apiKind,
  llm: llmKind,
  a2a: a2aKind,
  vision: visionKind,
  audio: audioKind,
  docker: dockerKind,
  sensor: sensorKind,
  framework: frameworkKind,
  workflow: workflowKind,
  edge: edgeKind,
};
