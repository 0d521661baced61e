/** What a tool returns (MCP "Tool Result"). */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { fault } from '../../../contracts/fault.ts';
import type { AgentResult, CallFiles, FileReference } from '../../../domain/ports.ts';
import type { FrameworkCall } from '../framework-call.ts';

const MAX_REASON_LENGTH = 1_000;
const MAX_FILES = 100;

/** Its structured content; else its text, with `{text?, files?}` if there is more than text. */
export async function outputOf(
  { structuredContent, content, isError }: CallToolResult,
  { call, guard }: FrameworkCall,
  tool: string,
): Promise<AgentResult> {
  const text = content.flatMap(textOf).join('\n');
  if (isError === true)
    throw fault('runtime', `The tool ${tool} failed: ${guard.sensitive.quote(text, MAX_REASON_LENGTH)}`);
  const files = call.files && guard.sensitive.cleanFiles(call.files);
  if (structuredContent !== undefined) return { output: structuredContent };
  if (content.length > MAX_FILES && content.some((block) => block.type !== 'text'))
    throw fault('communication', `The tool ${tool} returned more than ${MAX_FILES} parts`, { status: 502 });
  const references: FileReference[] = [];
  for (const block of content) {
    const file = await fileOf(block, files);
    if (file !== null) references.push(file);
  }
  if (references.length === 0) return { output: text };
  return { output: { ...(text === '' ? {} : { text }), files: references } };
}

function textOf(block: ContentBlock): string[] {
  if (block.type === 'text') return [block.text];
  return block.type === 'resource' && 'text' in block.resource ? [block.resource.text] : [];
}

async function fileOf(block: ContentBlock, files: CallFiles | undefined): Promise<FileReference | null> {
  const store = (base64: string, name: string, type: string | undefined): Promise<FileReference> => {
    if (!files)
      throw fault('communication', 'The tool returned a file, which cannot be stored', { status: 502 });
    return files.store(Buffer.from(base64, 'base64'), {
      name,
      media_type: type ?? 'application/octet-stream',
    });
  };
  switch (block.type) {
    case 'image':
    case 'audio':
      return store(block.data, block.type, block.mimeType);
    case 'resource':
      if (!('blob' in block.resource)) return null;
      return store(block.resource.blob, lastPart(block.resource.uri), block.resource.mimeType);
    case 'resource_link':
      return {
        url: block.uri,
        name: block.name,
        ...(block.mimeType === undefined ? {} : { media_type: block.mimeType }),
      };
    default:
      return null;
  }
}

function lastPart(uri: string): string {
  return uri.split(/[/?#]/).findLast((part) => part !== '') ?? 'resource';
}
