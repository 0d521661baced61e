/**
 * kagent's extension https://kagent.dev/extensions/hitl/v1 for approvals: the question's metadata carries a
 * `tool_approval_request` under the extension's URI, the answer a `tool_approval_response`. Tool ids are the
 * ids of the human tasks.
 */
import type { A2AMessage } from './objects.ts';
import { isRecord } from '../is-record.ts';
import { approvalWords } from './approval.ts';

export const HITL_EXTENSION = 'https://kagent.dev/extensions/hitl/v1';

/** The approval request for a question's data parts. Null if one of them needs more than yes or no. */
export function approvalRequest(question: A2AMessage): Record<string, unknown> | null {
  const asked = question.parts.flatMap(({ data }) =>
    isRecord(data) && data['type'] === 'hitl_request' ? [data] : [],
  );
  if (
    asked.length === 0 ||
    asked.some(
      ({ decisions }) => approvalWords({ decisions: Array.isArray(decisions) ? decisions : [] }) === null,
    )
  )
    return null;
  return {
    type: 'tool_approval_request',
    hint: asked.map(({ title }) => title).join('\n'),
    tools: asked.map(({ id, name, subject }) => ({
      id,
      call_id: id,
      name,
      args: isRecord(subject) ? subject : {},
    })),
  };
}

export interface ExtensionApproval {
  id: string;
  approved: boolean;
  reason: string | null;
}

/** The approvals in an answer that uses the extension; null if it does not use it. */
export function extensionApprovals(message: A2AMessage): ExtensionApproval[] | null {
  const payload = message.extensions?.includes(HITL_EXTENSION)
    ? message.metadata?.[HITL_EXTENSION]
    : undefined;
  if (
    !isRecord(payload) ||
    payload['type'] !== 'tool_approval_response' ||
    !Array.isArray(payload['approvals'])
  )
    return null;
  return payload['approvals'].filter(isRecord).map(({ id, approved, rejection_reason: reason }) => ({
    id: String(id),
    approved: approved === true,
    reason: typeof reason === 'string' && reason !== '' ? reason : null,
  }));
}
