// Chapter: several heads, three uses (SPEC 3.4 and 3.5).

const STATION = { text: "Where is the next station, please?", target: "de" };

export const chapter = {
  name: "heads",
  title: { en: "Many heads", zh: "许多个头" },
  steps: [
    {
      say: {
        en:
          "One row of weights can look at one thing well. A sentence asks for more: who does it, to what, which " +
          "word stands beside. So every layer has several heads, each with matrices for queries, keys and values " +
          "of its own.",
        zh: "一行权重只能看好一件事，而一个句子要看的不止一件：谁做的，对什么做，旁边是哪个词。所以每一层都有好几个头，每个头都有自己的查询、键、值矩阵。",
      },
      figure: { kind: "lines", ...STATION, rule: "mostNext", row: "next" },
    },
    {
      say: {
        en:
          "A head works with a part of the width only: with h heads, each has d ÷ h numbers. Their results are put " +
          "side by side, and one more matrix mixes them. Together they cost about as much as one wide head.",
        zh: "每个头只用总宽度的一部分：有 h 个头，每个就用 d ÷ h 个数。各头的结果并排接起来，再由一个矩阵混合。合在一起，花的力气和一个宽的头差不多。",
      },
      formula: "heads",
    },
    {
      say: {
        en:
          "Nobody gives the heads their work; they share it out while they learn. The buttons in the figure " +
          "compute, for the model in front of you, which head does a thing most, and say how clearly. Small " +
          "pictures show all heads: a line beside the diagonal means “my neighbour”, a column means “always this " +
          "one token”.",
        zh: "没有人给各个头分派工作，它们在学习中自己分工。图上的按钮会为您眼前的这个模型算出：哪个头最常做某件事，做得有多明显。小图是所有的头：紧挨对角线的一条斜线表示“看邻居”，一条竖线表示“总看同一个词元”。",
      },
      figure: { kind: "heads", ...STATION, rules: ["mostNext", "mostPrevious", "mostFirst", "mostEnd", "mostSpread"] },
    },
    {
      exercise: {
        kind: "lookedAt",
        ask: {
          en: (word) => `This head mostly looks at the token before. Where does “${word}” look?`,
          zh: (word) => `这个头大多看前一个词元。那么“${word}”看的是哪一个？`,
        },
        figure: { kind: "lines", ...STATION, rule: "mostPrevious", row: "station" },
      },
    },
    {
      say: {
        en:
          "Some heads put most of their weight on one symbol, the language mark or the end. There is little to " +
          "read there; often it means that the head has found nothing to do in this sentence. Its weights must go " +
          "somewhere, since they add up to 1.",
        zh: "有些头把大部分权重放在一个符号上，比如语言标记或结束符。那里没什么可读的，往往说明这个头在这个句子里无事可做。权重加起来必须是 1，总得放在某个地方。",
      },
      figure: { kind: "lines", ...STATION, rule: "mostFirst", row: "is" },
    },
    {
      say: {
        en:
          "The same machine is used in three places: in the encoder, where source tokens look at each other; in " +
          "the decoder, where written tokens look at those before; and between the two, where the decoder looks at " +
          "the source.",
        zh: "同样的机制用在三个地方：编码器里，源词元互相看；解码器里，写出的词元看前面写出的；两者之间，解码器看原文。",
      },
      figure: { kind: "heads", ...STATION, rules: ["bestAligning"] },
    },
  ],
};
