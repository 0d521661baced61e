import type { Client } from '@temporalio/client';

/** The id that Temporal gave the client's namespace. */
export async function namespaceId(client: Client): Promise<string> {
  const { namespace } = client.options;
  const { namespaceInfo } = await client.workflowService.describeNamespace({ namespace });
  if (!namespaceInfo?.id) throw new Error(`Temporal names no id of the namespace ${namespace}`);
  return namespaceInfo.id;
}
