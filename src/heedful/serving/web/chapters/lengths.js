// Chapter: quality over the length of sentences (SPEC 9).

const BOTH = { kind: "digits", networks: ["vector", "attention"], isMeasured: true };

export const chapter = {
  name: "lengths",
  title: { en: "Long sentences", zh: "长句子" },
  steps: [
    {
      say: {
        en:
          "A mean score over a test set hides what long sentences suffer. Sorted by length, it shows. The two small " +
          "networks of the second and third chapter are alike up to three digits; at twelve, one is nearly always " +
          "wrong and the other nearly always right.",
        zh: "整个测试集的平均分，看不出长句子的处境；按长度排开就看出来了。第二、三章的两个小网络，三个数字以内不分上下；到了十二个，一个几乎总是错，另一个几乎总是对。",
      },
      figure: BOTH,
    },
    {
      exercise: {
        kind: "rightAtLength",
        ask: {
          en: (length) =>
            `Of sequences of ${length} digits: how many in a hundred does the network that looks back write right?`,
          zh: (length) => `给那个会回头看的网络 ${length} 个数字：一百串里有多少串能一个不错地写出来？`,
        },
        figure: { kind: "digits", networks: ["attention"], isMeasured: true, length: 12 },
      },
    },
    {
      say: {
        en:
          "Translators do the same. These three learned the same everyday sentences for as long, with as many " +
          "numbers: up to seven tokens they are hardly apart, from twelve on the one with a single vector has a " +
          "third less, and then half. " +
          "With runs of your own: heedful study length RUN RUN, then open its report.json; every run is a line.",
        zh:
          "翻译模型也是这样。这三个学的是同样的日常句子，学得一样久，参数差不多一样多：七个词元以内几乎没有差别，从十二个起，只有一个向量的那个就少了三分之一，再长就少了一半。用您自己的模型：heedful study le" +
          "ngth RUN RUN，再打开它的 report.json，每个模型就是一条线。",
      },
      figure: { kind: "study", study: "length" },
    },
    {
      say: {
        en: "Try them on sentences of your own.",
        zh: "用您自己的句子试试。",
      },
      figure: {
        kind: "lessons", names: ["lesson-vector", "lesson-attention", "lesson-transformer"],
        text: "If I had known that you were coming, I would have bought some bread and cheese on the way home.",
      },
    },
    {
      say: {
        en:
          "Lengths never seen in training are harder still: there, positions decide. Train on short pairs alone " +
          "(at most twelve tokens), once with sines, once with learned positions, once with none, and compare.",
        zh: "训练中从没见过的长度更难：那里起决定作用的是位置。只用短句训练（最多十二个词元），分别用正弦位置、学出来的位置、不用位置，再来比较。",
      },
    },
  ],
};
