// The name of the axis of a reference such as `"x":(1)2`, which selects its colour, and the text of its chip.
export const axisCell = (ref) => [/^"(.*?)"/.exec(ref)[1], ref.replaceAll('"', "")];
