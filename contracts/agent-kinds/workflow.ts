/** Configuration of agents of kind `workflow`: workflows: each invocation is a run. */
import * as z from 'zod';
import type { AgentKind } from './kind.ts';

const workflowConfiguration = z.looseObject({
  workflow_id: z.string().optional(),
  revision: z.int().positive().optional(),
});

export const workflowKind: AgentKind = {
  configuration: workflowConfiguration,
  keys: ['workflow_id'],
  sendsCredentials: false,
};
