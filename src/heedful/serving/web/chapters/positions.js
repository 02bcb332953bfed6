// Chapter: how the model knows the order of words (SPEC 4.1, 4.2 and 9.3).

export const chapter = {
  name: "positions",
  title: { en: "Where a word stands", zh: "词在什么位置" },
  steps: [
    {
      say: {
        en:
          "Attention compares contents, and a sum has no order. Left like this, the model would take a sentence " +
          "for a bag of words. But the dog that bites the man is another story than the man who bites the dog.",
        zh: "注意力比较的是内容，而求和不分先后。如果只有这些，模型会把句子当成一袋词。可是狗咬人和人咬狗是两回事。",
      },
      figure: { kind: "order", texts: ["The dog bites the man.", "The man bites the dog."], target: "de" },
    },
    {
      say: {
        en:
          "So before the first layer a second list of numbers is added to each token's own: one for the place " +
          "where it stands. All the rest of the network stays as it is.",
        zh: "于是，在进入第一层之前，每个词元自己的那组数要再加上一组数，表示它所在的位置。网络的其余部分都不用改。",
      },
      figure: { kind: "positions", show: "table" },
    },
    {
      say: {
        en:
          "The paper takes sines and cosines. Each pair of dimensions is a wave: the first ones swing fast and " +
          "tell neighbours apart, the later ones so slowly that they hardly move within a sentence. Like the " +
          "digits of a number, together they name a place.",
        zh: "论文用的是正弦和余弦。每两维是一个波：前面的摆得快，能分清相邻的位置；后面的摆得很慢，一句话之内几乎不动。它们合起来，就像数字的各个数位一样，标出一个位置。",
      },
      formula: "positions",
      figure: { kind: "positions", show: "wave" },
    },
    {
      exercise: {
        kind: "alikePosition",
        ask: {
          en: () => "Which of these positions has a list of numbers most like that of position 10?",
          zh: () => "下面哪个位置的那组数和第 10 个位置最像？",
        },
        figure: { kind: "positions", show: "similarity" },
      },
    },
    {
      say: {
        en:
          "Near positions are alike, and with sines and cosines only the distance decides how much: the picture " +
          "has the same stripes everywhere. For any distance, one fixed rotation leads from every position to the " +
          "one so far behind it, which makes “the word before” an easy thing to ask for.",
        zh: "相近的位置彼此相像；用正弦和余弦时，有多像只取决于距离：图里各处都是同样的条纹。无论距离多少，总有一个固定的旋转，能把每个位置变成隔着这段距离的另一个位置，所以“前一个词”问起来很容易。",
      },
      figure: { kind: "positions", show: "similarity" },
    },
    {
      say: {
        en:
          "A table can also be learned like every other parameter. It serves about as well, but it has no rows " +
          "beyond the longest sentence it was made for. The view “Positions” shows whichever your model has.",
        zh: "位置表也可以像其他参数一样学出来。效果差不多，但它只有那么多行，更长的句子就没有了。“位置”视图会显示您的模型用的是哪一种。",
      },
    },
  ],
};
