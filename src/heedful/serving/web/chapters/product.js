// Chapter: where the weights come from (SPEC 3.1 to 3.3).

const KEY = { text: "I have lost my key.", target: "de", rule: "bestAligning", row: "Schlüssel" };

export const chapter = {
  name: "product",
  title: { en: "Queries, keys, values", zh: "查询、键、值" },
  steps: [
    {
      say: {
        en:
          "Where do the weights come from? The simplest way: compare the lists of numbers of two tokens by their " +
          "dot product, multiply place by place and add. What points the same way gives a large number.",
        zh: "权重从哪里来？最简单的办法：用点积比较两个词元的那组数，对应位置相乘再相加。方向越一致，结果越大。",
      },
      figure: { kind: "cell", ...KEY },
    },
    {
      say: {
        en:
          "The Transformer lets each token speak in three roles. Its query says what it looks for, its key says " +
          "what it offers, its value is what it hands over. Three learned matrices make them from the same list of " +
          "numbers.",
        zh: "Transformer 让每个词元担任三种角色：查询说明它要找什么，键说明它能提供什么，值是它真正交出的内容。三者由三个学出来的矩阵从同一组数算得。",
      },
    },
    {
      say: {
        en:
          "The query of the token being written is compared with every key. The softmax turns these scores into " +
          "weights: each becomes a power of e, and all are divided by their sum. The weighted sum of the values is " +
          "the result.",
        zh: "正在写的词元用它的查询去和每一个键比较。softmax 把这些分数变成权重：先各自取 e 的幂，再除以总和。最后按权重把各个值加起来，就是结果。",
      },
      formula: "product",
    },
    {
      exercise: {
        kind: "topScore",
        ask: {
          en: (word) => `These are the scores in the row of “${word}”. Which source token gets most of the weight?`,
          zh: (word) => `这是“${word}”那一行的分数。哪个源词元会得到最大的权重？`,
        },
        figure: { kind: "cell", ...KEY, row: "verloren" },
      },
    },
    {
      say: {
        en:
          "And the division by √d? The more numbers a query has, the further their products spread. Without it the " +
          "softmax gives nearly everything to the largest score, and a network that is sure from the start learns " +
          "little. Switch it off in the figure and watch the weights. √d is a constant, nothing that is learned.",
        zh: "为什么要除以 √d？查询里的数越多，点积散得越开。如果不除，softmax 几乎会把全部权重给最大的分数，而一开始就这么肯定的网络学不到什么。在图里关掉它，看看权重怎么变。√d 是常数，不是学出来的。",
      },
      figure: { kind: "cell", ...KEY, row: "Ich" },
    },
  ],
};
