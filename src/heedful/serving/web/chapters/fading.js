// Chapter: how gradients vanish or explode over time (SPEC 2.1 and 9).

const GRADIENTS = { kind: "study", study: "gradients" };

export const chapter = {
  name: "fading",
  title: { en: "What is left of a gradient", zh: "梯度还剩下多少" },
  steps: [
    {
      say: {
        en:
          "A model learns from gradients: how much would the end change if the beginning were a little different? In " +
          "a recurrent layer the answer passes through one matrix for every token between the two. A factor below " +
          "one, a hundred times over, is nothing; a factor above one is an explosion.",
        zh: "模型靠梯度学习：开头变一点，结尾会变多少？在循环层里，答案要穿过中间每个词元的矩阵。小于一的因子乘上一百次，就什么也不剩；大于一的，就会爆炸。",
      },
      formula: "chain",
      figure: GRADIENTS,
    },
    {
      exercise: {
        kind: "keepsGradient",
        ask: {
          en: () =>
            "Of these layers, as they are before any training: in which does a gradient stay nearly as large over " +
            "any distance?",
          zh: () => "这些层都还没有训练。在哪一种里，梯度不论隔多远都差不多一样大？",
        },
        figure: GRADIENTS,
      },
    },
    {
      say: {
        en:
          "The number behind each name is the factor of one position. Gates were invented for this: with its forget " +
          "gate open, an LSTM loses a fifth at each token instead of a third. Attention has one step whatever the " +
          "distance, so there is nothing to multiply.",
        zh: "每个名字后面的数，是一个位置的因子。门就是为此发明的：遗忘门打开时，LSTM 每个词元只丢五分之一，而不是三分之一。注意力不论多远都只有一步，没有什么可以连乘。",
      },
      figure: GRADIENTS,
    },
    {
      say: {
        en:
          "Other lengths, widths and seeds: heedful study gradients --length 256 takes half a minute on a laptop. " +
          "Open its report.json in the figure.",
        zh: "想换别的长度、宽度和随机种子：heedful study gradients --length 256 在笔记本电脑上只要半分钟。在图中打开它的 report.json 即可。",
      },
    },
  ],
};
