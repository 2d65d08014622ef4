import { fail, type FileSystem, JSON_PROFILES, nodeFileSystem, readFileWithin } from '../core/index.ts';
import type { Model, ModelEvent, ModelRequest } from './model.ts';
import { parseTranscript, type Transcript, type TranscriptTurn, type TurnExpectation } from './transcript.ts';

/**
 * A model that plays a transcript. Which turn is played follows from the conversation alone (how many replies it
 * holds), so a run that is resumed in another process goes on where it was. Throws `TRANSCRIPT_ENDED` when there are
 * no more turns and `TRANSCRIPT_MISMATCH` when the run asks something else than what was recorded.
 */
export function recordedModel(transcript: Transcript): Model {
  return Object.freeze({
    id: `recorded:${transcript.model}`,
    async *turn(request: ModelRequest): AsyncGenerator<ModelEvent> {
      const number = request.messages.filter((message) => message.role === 'assistant').length;
      const turn = transcript.turns[number];
      if (turn === undefined)
        throw fail(
          'TRANSCRIPT_ENDED',
          `The transcript has ${transcript.turns.length} turns and the run asks for more.`,
          {
            details: { turns: transcript.turns.length },
          },
        );
      compare(turn.expect, request, number);
      yield* eventsOf(turn);
    },
  });
}

/** Reads a transcript file of at most 16 MiB as a model. Throws the file's errors and `TRANSCRIPT_INVALID`. */
export function recordedModelFromFile(path: string, files: FileSystem = nodeFileSystem): Model {
  const bytes = readFileWithin(files, path, JSON_PROFILES.transcript.bytes);
  if (bytes === undefined) throw fail('TRANSCRIPT_INVALID', 'The transcript is larger than 16 MiB.');
  return recordedModel(parseTranscript(bytes));
}

function* eventsOf(turn: TranscriptTurn): Generator<ModelEvent> {
  if (turn.text !== '') yield { type: 'text', text: turn.text };
  for (const call of turn.calls) yield { type: 'call', call };
  yield { type: 'finish', reason: turn.finishReason, usage: turn.usage };
}

function compare(expect: TurnExpectation, request: ModelRequest, number: number): void {
  const last = request.messages.at(-1);
  const tools = request.tools.map((tool) => tool.function.name).toSorted();
  if (expect.messages !== undefined && expect.messages !== request.messages.length)
    throw mismatch(number, `${expect.messages} messages, and there are ${request.messages.length}`);
  if (expect.lastRole !== undefined && expect.lastRole !== last?.role)
    throw mismatch(number, `a last message of role ${expect.lastRole}, and it is of role ${last?.role ?? 'none'}`);
  if (expect.lastText !== undefined && !(last?.text ?? '').includes(expect.lastText))
    throw mismatch(number, 'a text that the last message does not contain');
  if (expect.tools !== undefined && expect.tools.toSorted().join('\n') !== tools.join('\n'))
    throw mismatch(number, `${expect.tools.length} tools by name, and others are offered`);
}

function mismatch(number: number, what: string): Error {
  return fail('TRANSCRIPT_MISMATCH', `Turn ${number} of the transcript expects ${what}.`, {
    details: { turn: number },
  });
}
