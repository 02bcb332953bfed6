// Chapter: what may not be seen (SPEC 1.3 and 3.6).

const KEY = { text: "I have lost my key.", target: "de" };

export const chapter = {
  name: "masks",
  title: { en: "Masks: what may not be seen", zh: "掩码：哪些不许看" },
  steps: [
    {
      say: {
        en:
          "When the third token is written, the fourth does not exist yet. While it learns it does exist: the " +
          "whole reference is given at once, so that all steps can be computed together. Without care, each step " +
          "could simply copy the answer.",
        zh: "写第三个词元的时候，第四个还不存在。可训练时它是存在的：整句参考译文一次给出，这样所有步骤可以一起计算。如果不小心，每一步都可以直接抄答案。",
      },
      figure: { kind: "heat", ...KEY, use: ["target", "target"], layer: -1, head: -1 },
    },
    {
      say: {
        en:
          "So the decoder's self-attention is masked: a token sees itself and what stands before, nothing after. " +
          "In the figure the upper right triangle is empty, in every head of every layer.",
        zh: "所以解码器的自注意力要加掩码：每个词元只能看自己和前面的，后面的一概不看。图中右上方的三角形是空的，每一层的每个头都是如此。",
      },
    },
    {
      say: {
        en:
          "How is it done? Not by setting weights to 0 afterwards, for then they would no longer add up to 1. The " +
          "score is set to −∞ before the softmax. e to the power of −∞ is 0, and the others share the whole.",
        zh: "怎么做到的？不是事后把权重改成 0，那样加起来就不是 1 了。而是在 softmax 之前，把分数设成 −∞。e 的负无穷次幂是 0，其余的分享全部权重。",
      },
      formula: "mask",
      figure: { kind: "cell", ...KEY, use: ["target", "target"], layer: -1, head: 0, row: "meinen" },
    },
    {
      exercise: {
        kind: "hidden",
        ask: {
          en: (word) =>
            `While it writes “${word}”, its input is the start symbol and what is written so far. ` +
            "Click a token it cannot see.",
          zh: (word) => `写“${word}”时，输入是开始符号和已经写出的部分。请点一个它看不到的词元。`,
        },
        figure: { kind: "heat", ...KEY, use: ["target", "target"], layer: -1, head: -1, row: "meinen" },
      },
    },
    {
      say: {
        en:
          "There is a second mask. Sentences of different length are put into one batch, and the short ones are " +
          "filled up with padding. Padding is no text, so no attention may look at it: neither in the decoder nor " +
          "in the encoder. Whatever else is in the batch, the result for a sentence stays the same.",
        zh: "还有第二种掩码。长短不一的句子放进同一批时，短的要用填充符补齐。填充符不是文字，任何注意力都不许看它，解码器里不许，编码器里也不许。这样，不管同一批里还有什么，一个句子的结果都不会变。",
      },
      figure: { kind: "heat", ...KEY, use: ["source", "source"], layer: -1, head: -1 },
    },
  ],
};
