/**
 * kagent's extension https://kagent.dev/extensions/hitl/v1 for approvals: the question carries a `tool_approval_request` under
 * the URI in its metadata, the answer a `tool_approval_response`. Tool ids are the human tasks' ids.
 */
import type { A2AMessage } from '../../contracts/a2a.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { approvalWords } from './approval.ts';

export const HITL_EXTENSION = 'https://kagent.dev/extensions/hitl/v1';

/** The request that the data parts of a question are worth; null if one of them is no approval: it needs a form, not a yes. */
export function approvalRequest(question: A2AMessage): Record<string, unknown> | null {
  const asked = question.parts.flatMap(({ data }) => (isRecord(data) && data['type'] === 'hitl_request' ? [data] : []));
  if (asked.length === 0 || asked.some(({ decisions }) => approvalWords({ decisions: Array.isArray(decisions) ? decisions : [] }) === null)) return null;
  return {
    type: 'tool_approval_request',
    hint: asked.map(({ title }) => title).join('\n'),
    tools: asked.map(({ id, name, subject }) => ({ id, call_id: id, name, args: isRecord(subject) ? subject : {} })),
  };
}

export interface ExtensionApproval {
  id: string;
  approved: boolean;
  reason: string | null;
}

/** The approvals of an answer that uses the extension; null if it does not. */
export function extensionApprovals(message: A2AMessage): ExtensionApproval[] | null {
  const payload = message.extensions?.includes(HITL_EXTENSION) ? message.metadata?.[HITL_EXTENSION] : undefined;
  if (!isRecord(payload) || payload['type'] !== 'tool_approval_response' || !Array.isArray(payload['approvals'])) return null;
  return payload['approvals'].filter(isRecord).map(({ id, approved, rejection_reason: reason }) => ({
    id: String(id),
    approved: approved === true,
    reason: typeof reason === 'string' && reason !== '' ? reason : null,
  }));
}
