// Chapter: what makes it learn (SPEC 1.3, 5.1 and 5.2).

const KEY = { text: "I have lost my key.", target: "de" };

export const chapter = {
  name: "training",
  title: { en: "How it learns", zh: "它怎样学习" },
  steps: [
    {
      say: {
        en:
          "Training needs sentences with translations made by people. The model is given the source and, shifted " +
          "by one place, the reference: at every position it sees what should stand before and must guess what " +
          "comes next. Whatever it would have written itself, the next position is given the right beginning.",
        zh: "训练需要人工翻译好的句子。模型得到原文，以及往后错开一位的参考译文：在每个位置上，它看到前面应有的词，要猜出下一个。不管它自己会写什么，下一个位置得到的总是正确的开头。",
      },
      figure: { kind: "loss", ...KEY, reference: "Ich habe meinen Schlüssel verloren." },
    },
    {
      say: {
        en:
          "The loss says how surprised it was: minus the logarithm of the probability it gave to the reference " +
          "token. Certain and right costs 0; a tenth costs 2.3; a thousandth 6.9. Training changes all parameters " +
          "a little so that the mean becomes smaller.",
        zh: "损失表示它有多意外：取它给参考词元的概率，求对数再变号。十拿九稳又猜对，代价接近 0；只给了十分之一的概率，代价 2.3；千分之一，6.9。训练就是把所有参数一点点地改，让平均损失变小。",
      },
      formula: "loss",
    },
    {
      exercise: {
        kind: "worstToken",
        ask: {
          en: () => "Here somebody translated “key” by “Hund”, dog. At which token is the model most surprised?",
          zh: () => "这里有人把“key”译成了“Hund”，也就是狗。模型在哪个词元上最意外？",
        },
        figure: { kind: "loss", ...KEY, reference: "Ich habe meinen Hund verloren." },
      },
    },
    {
      say: {
        en:
          "The reference is one good translation among several, and nobody should be surer than that. Label " +
          "smoothing takes a small part ε off the reference token and spreads it over the whole vocabulary. The " +
          "model becomes less certain, and usually translates better.",
        zh: "参考译文只是几种好译文中的一种，没有人该比这更肯定。标签平滑从参考词元那里拿走一小部分 ε，分给整个词表。这样模型不那么肯定，译得通常却更好。",
      },
      figure: { kind: "smoothing", ...KEY, reference: "Ich habe meinen Schlüssel verloren.", step: 3 },
    },
    {
      say: {
        en:
          "How large should each change be? In the beginning nearly everything is wrong, and large steps lead " +
          "astray. So the learning rate climbs during a warm-up and then sinks with the square root of the step. " +
          "Move the slider.",
        zh: "每次该改多少？一开始几乎处处都错，步子大了会走偏。所以学习率在预热阶段慢慢升上去，之后随步数的平方根降下来。拖动滑块看看。",
      },
      formula: "schedule",
      figure: { kind: "schedule" },
    },
    {
      say: {
        en:
          "And so that it does not learn its examples by heart, dropout switches off a random part of the numbers " +
          "at each step of training, and only then. The view “Training” shows the curves of a real run and what it " +
          "said on the way.",
        zh: "为了不让它死记例句，训练的每一步都随机关掉一部分数，这叫 dropout，只在训练时用。“训练”视图里有一次真实训练的曲线，以及它一路上说过的话。",
      },
    },
  ],
};
