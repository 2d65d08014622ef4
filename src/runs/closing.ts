/**
 * Why a run's turns are broken off when its process closes: nobody asked for a stop of it, so it is let go of, as a kill
 * would leave it, and whoever resumes it goes on.
 */
export const CLOSING = new DOMException('The process closes.', 'AbortError');

export const isClosing = ({ aborted, reason }: AbortSignal): boolean => aborted && reason === CLOSING;
