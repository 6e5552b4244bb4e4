// Waits until its standard input ends, then ends itself in the way that is asked for.
// usage: Ends return | exit | throw | failfast | background | exit-other | fork
using System;
using System.Runtime.InteropServices;
using System.Threading;

static class Ends
{
    [DllImport("libc")] static extern int fork();
    [DllImport("libc")] static extern uint sleep(uint seconds);

    static void Main(string[] args)
    {
        Console.WriteLine("ready");
        var input = Console.OpenStandardInput();
        var buffer = new byte[256];
        while (input.Read(buffer, 0, buffer.Length) > 0) { }
        switch (args[0])
        {
            case "return":
                Console.WriteLine("returning");
                return;
            case "exit":
                Environment.Exit(3);
                break;
            case "throw":
                throw new InvalidOperationException("on purpose");
            case "failfast":
                Environment.FailFast("on purpose");
                break;
            case "background":
                var idle = new Thread(() => { while (true) Thread.Sleep(10); });
                idle.IsBackground = true;
                idle.Start();
                Console.WriteLine("leaving a thread behind");
                return;
            case "exit-other":
                new Thread(() => Environment.Exit(4)).Start();
                Thread.Sleep(Timeout.Infinite);
                break;
            case "fork":
                // The child does nothing but live on; whoever runs this kills it.
                sleep(0);
                int child = fork();
                if (child == 0) { while (true) sleep(60); }
                Console.WriteLine("child {0}", child);
                return;
            default:
                Console.WriteLine("no such end");
                Environment.Exit(99);
                break;
        }
    }
}
