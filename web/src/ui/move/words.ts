export const words = { move: 'Move', give: 'Give to …' };
