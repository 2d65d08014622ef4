import picocolors from 'picocolors';

/** As lines are painted where nobody sees colours, and commands said where nothing was given. */
export const PLAIN = { ...picocolors.createColors(false), command: (text: string): string => text };
