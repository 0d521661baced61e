import { NamespaceNotFoundError, type Client } from '@temporalio/client';

import { isNotFound } from './grpc-failures.ts';

/** The id that Temporal gave the client's namespace. @throws NamespaceNotFoundError */
export async function namespaceId(client: Client): Promise<string> {
  const { namespace } = client.options;
  const { namespaceInfo } = await client.workflowService
    .describeNamespace({ namespace })
    .catch((error: unknown) => {
      throw isNotFound(error) ? new NamespaceNotFoundError(namespace) : error;
    });
  if (!namespaceInfo?.id) throw new Error(`Temporal names no id of the namespace ${namespace}`);
  return namespaceInfo.id;
}
