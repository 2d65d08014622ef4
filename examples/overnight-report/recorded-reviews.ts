import { HoldfastError, type Model, recordedModelFromFile } from '../../src/index.ts';

/** A reviewer that plays the recorded review of exactly what it is shown; of anything else it has none. */
export function recordedReviews(files: readonly string[]): Model {
  const reviews = files.map((file) => recordedModelFromFile(file));
  return {
    id: 'recorded:reviewer',
    async *turn(request) {
      for (const review of reviews) {
        try {
          for await (const event of review.turn(request)) yield event;
          return;
        } catch (error) {
          if (!(error instanceof HoldfastError) || error.code !== 'TRANSCRIPT_MISMATCH') throw error;
        }
      }
      throw new Error('There is no recorded review of this.');
    },
  };
}
