// Chapter: from probabilities to a sentence (SPEC 6).

const NOVEL = { text: "She is bored with this novel.", target: "de" };

export const chapter = {
  name: "search",
  title: { en: "Search: choosing the words", zh: "搜索：怎样选词" },
  steps: [
    {
      say: {
        en:
          "The model gives probabilities; somebody must choose. Greedy search writes the most probable token at " +
          "each step and never looks back. That is quick and mostly good.",
        zh: "模型只给出概率，总得有谁来选。贪心搜索每一步都写下最可能的词元，从不回头。这样很快，多半也不错。",
      },
      figure: { kind: "sequence", ...NOVEL, step: 1, beam: 1 },
    },
    {
      say: {
        en:
          "But what looks best now can lead to a poor ending. The probability of a whole sentence is the product " +
          "of all its steps, and its logarithm their sum. A beam therefore keeps several beginnings at once, " +
          "extends them all, and drops the weakest.",
        zh: "可是眼下最好的，可能把结尾引向不好的地方。整句的概率是每一步概率的乘积，取对数就是相加。所以束搜索同时保留好几个开头，一起往下写，再丢掉最弱的。",
      },
    },
    {
      exercise: {
        kind: "moreProbable",
        ask: {
          en: () =>
            "Two translations of the same sentence, one found by greedy search, one with a beam. " +
            "Which is more probable as a whole?",
          zh: () => "同一句话的两个译文，一个由贪心搜索找到，一个由束搜索找到。哪一个整句的概率更高？",
        },
        figure: { kind: "search", ...NOVEL },
      },
    },
    {
      say: {
        en:
          "Under each token stands its probability. Where the two part, greedy search takes the more probable " +
          "token; what follows costs it more than it has won.",
        zh: "每个词元下面写着它的概率。在分开的地方，贪心搜索选了更可能的词元，可后面付出的比赚到的多。",
      },
      figure: { kind: "search", ...NOVEL },
    },
    {
      say: {
        en:
          "Every further token makes a sum of logarithms smaller, so short sentences would win too often. The " +
          "length penalty divides the sum by a power of the length; with α = 0 nothing is divided. Here the " +
          "shortest candidate is first at α = 0. Slide α up and watch it sink.",
        zh: "每多写一个词元，对数之和就更小，短句子便容易占便宜。长度惩罚把总和除以长度的某个幂；α = 0 就是不除。这一句在 α = 0 时，最短的候选排第一；把 α 往上拖，看它怎样落下去。",
      },
      formula: "penalty",
      figure: { kind: "penalty", text: "Wait a second.", target: "de" },
    },
    {
      say: {
        en:
          "What was computed for earlier tokens does not change when a new one comes: their keys and values are " +
          "kept, and each step only adds its own. In the view “Decoding” you see the whole tree, and why each " +
          "branch ended.",
        zh: "新的词元到来时，前面算过的东西不会变：它们的键和值都留着，每一步只添上自己的。在“解码”视图里可以看到整棵树，以及每个分支为什么结束。",
      },
    },
  ],
};
