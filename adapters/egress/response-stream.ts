/**
 * Like `ReadableStream.from`, but cancelling closes the connection at once instead of with the next chunk.
 */
export function streamOf(chunks: AsyncGenerator<Uint8Array>, leave: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}
