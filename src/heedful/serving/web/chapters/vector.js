// Chapter: one vector for a whole sequence, and what does not fit into it (SPEC 2.1).

export const chapter = {
  name: "vector",
  title: { en: "One vector for a sentence", zh: "整句话只有一个向量" },
  steps: [
    {
      say: {
        en:
          "Before attention there were recurrent networks. One has a state, a list of numbers; it reads one " +
          "token after the other, and with each the state becomes a new one, made of the old state and the " +
          "token. When the sentence is over, the state is all that is left of it.",
        zh: "在注意力之前，用的是循环网络。它有一个状态，就是一组数；它一个接一个地读词元，每读一个，就由旧状态和这个词元算出新状态。读完之后，整句话只剩下这个状态。",
      },
      formula: "recurrent",
      figure: { kind: "digits", networks: ["vector"], digits: "3141" },
    },
    {
      say: {
        en:
          "A second network begins with this state and writes, one token after the other. To see what the state " +
          "can hold, the task is as simple as can be: write the digits that were read, in their order. The " +
          "network in the figure has learned it, is run by your browser, and has a state of 32 numbers.",
        zh: "第二个网络从这个状态出发，一个接一个地写。为了看清一个状态能装下多少，任务尽量简单：把读到的数字按原来的顺序再写一遍。图中的网络已经学过这个任务，由您的浏览器运行，状态是 32 个数。",
      },
    },
    {
      say: {
        en: "Type more digits. It was trained on up to twelve, and yet the longer the sequence, the more is lost.",
        zh: "多输入几个数字试试。训练时最多有十二个，可是序列越长，丢掉的就越多。",
      },
      figure: { kind: "digits", networks: ["vector"], digits: "314159265358" },
    },
    {
      exercise: {
        kind: "rightAtLength",
        ask: {
          en: (length) =>
            `Of sequences of ${length} digits that it never saw: how many in a hundred does it write without a fault?`,
          zh: (length) => `给它 ${length} 个没见过的数字：一百串里有多少串能一个不错地写出来？`,
        },
        figure: { kind: "digits", networks: ["vector"], isMeasured: true, length: 12 },
      },
    },
    {
      say: {
        en:
          "Short or long, everything has to pass through the same 32 numbers. A larger state puts the end off, " +
          "and costs more for every token; it does not change what happens. That is why translations by such " +
          "networks were good for short sentences and fell apart on long ones.",
        zh: "不论长短，一切都得挤过同样的 32 个数。状态再大一些，只是晚一点装不下，而且每个词元的计算都更贵；该发生的还是会发生。所以这类网络译短句不错，句子一长就散了。",
      },
      figure: { kind: "digits", networks: ["vector"], isMeasured: true },
    },
    {
      say: {
        en:
          "Here is one that translates: a recurrent network of 0.7 million numbers, which learned 163,000 pairs of " +
          "everyday sentences. Short ones come out right. Of a long one it keeps the tone, and makes up the rest.",
        zh: "这是一个真正做翻译的：一个有 70 万个参数的循环网络，学过 16.3 万对日常句子。短句译得对；长句只留下个大概的腔调，其余是编出来的。",
      },
      figure: {
        kind: "lessons", names: ["lesson-vector"],
        text: "My sister told me that she wants to learn German because she is going to work in Berlin next year.",
      },
    },
  ],
};
