export const words = { move: 'Move' };
