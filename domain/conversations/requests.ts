/** Checks the tool calls that a model asks for. What is wrong is told to the model, not executed. */
import { cutTo } from '../../contracts/cut-text.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { ApprovalRequest, ToolRequest } from '../../contracts/tool-loop.ts';
import { template, type Json } from '../../language/expressions/index.ts';
import { describeViolations, violations } from '../../language/schema/validate-json.ts';
import { requestBudget, type ExpressionBudget } from '../../language/expression-budget.ts';
import type { ModelTurnResult } from '../ports.ts';
import type { StoredTool } from './tools.ts';

/** Of one turn; the model is told of the others. */
const MAX_CALLS = 64;
/** Of the arguments of one call, in characters of JSON. */
const MAX_ARGUMENTS = 256 * 1024;
const MAX_NAME = 64;
const MAX_ID = 200;

/** `conversation`: the last messages, for those who approve. */
export function checkRequests(
  tools: readonly StoredTool[],
  calls: ModelTurnResult['calls'],
  conversation: ApprovalRequest['conversation'],
): ToolRequest[] {
  const budget = requestBudget();
  return calls.map((call, index) => {
    const position = tools.findIndex(({ name }) => name === call.name);
    const tool = tools[position];
    const request = {
      id: cutTo(call.id, MAX_ID),
      name: cutTo(call.name, MAX_NAME),
      tool: tool ? position : null,
      arguments: call.arguments,
    };
    const problem = index >= MAX_CALLS ? `A turn may call ${MAX_CALLS} tools.` : problemOf(tools, tool, call);
    if (problem !== null || !tool)
      return { ...request, arguments: shortened(call.arguments), problem: problem ?? '' };
    if (!needsApproval(tool.approval, call.arguments, budget)) return request;
    const approval = { form: formOf(tool, call.arguments), description: tool.description, conversation };
    return { ...request, approval };
  });
}

function problemOf(
  tools: readonly StoredTool[],
  tool: StoredTool | undefined,
  { name, arguments: given, problem }: ModelTurnResult['calls'][number],
): string | null {
  if (!tool) {
    const names = tools.map((one) => one.name).join(', ');
    return `There is no tool ${JSON.stringify(name.slice(0, MAX_NAME))}. There are: ${names || 'none'}.`;
  }
  if (problem !== undefined) return problem;
  if (!isRecord(given)) return 'The arguments must be a JSON object.';
  if (JSON.stringify(given).length > MAX_ARGUMENTS)
    return `The arguments have more than ${MAX_ARGUMENTS} characters of JSON.`;
  const found = violations(tool.unchecked ? null : tool.parameters, given);
  return found.length === 0
    ? null
    : `The arguments do not fit the schema of ${tool.name}: ${describeViolations(found)}`;
}

function shortened(value: unknown): unknown {
  return JSON.stringify(value ?? null).length > MAX_ARGUMENTS ? null : value;
}

/** Fails closed: only an expression that is exactly false lets the call go on without a person. */
function needsApproval(approval: string, given: unknown, budget: ExpressionBudget): boolean {
  if (approval === 'never') return false;
  if (approval === 'always') return true;
  try {
    // Parsed from JSON.
    return template(approval, { mode: 'loose' }).first(given as Json, budget.options) !== false;
  } catch {
    return true;
  }
}

/** Without `arguments`, an approval is for the call as it is. */
function formOf({ parameters, unchecked }: StoredTool, given: unknown): Record<string, unknown> {
  const schema: Record<string, unknown> = unchecked ? { type: 'object' } : parameters;
  const local = JSON.stringify(schema).includes('"$ref"') && !('$id' in schema);
  return {
    type: 'object',
    properties: {
      arguments: {
        ...schema,
        title: 'Arguments',
        description: 'Change them, or leave them as the model wrote them',
        // References inside it stay references to it.
        ...(local ? { $id: 'urn:cadenza:arguments' } : {}),
        default: given,
      },
    },
    additionalProperties: false,
  };
}
