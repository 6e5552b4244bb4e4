// A program that closes descriptors which it did not open, uses their numbers again, and looks for traces of
// somebody else in what is its own. It waits for a line on its standard input before it begins.
// usage: Descriptors low N                closes N to 99, then opens 20 connections
//        Descriptors sockets WHICH        closes sockets it finds (all, or the nth by number, from 0) and gives the
//                                         numbers to connections of its own
//        Descriptors files WHICH PREFIX   the same with files PREFIX0, PREFIX1 and so on, open until the end
// Prints "replaced R foreign F stolen S closed C" in bytes and connections.
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Threading;

static class Descriptors
{
    [DllImport("libc")] static extern int close(int fd);
    [DllImport("libc")] static extern int dup2(int from, int to);
    [DllImport("libc")] static extern IntPtr readlink(string path, byte[] buffer, IntPtr size);

    const int Connections = 20;
    const string Letter = "hello";
    static readonly List<Socket> ours = new List<Socket>();
    static readonly List<Socket> peers = new List<Socket>();
    static readonly List<FileStream> files = new List<FileStream>();

    static List<int> Sockets(string which)
    {
        var found = new List<int>();
        foreach (var entry in Directory.GetFileSystemEntries("/proc/self/fd"))
        {
            var target = new byte[256];
            int size = (int)readlink(entry, target, (IntPtr)target.Length);
            if (size > 0 && System.Text.Encoding.ASCII.GetString(target, 0, size).StartsWith("socket:"))
                found.Add(int.Parse(Path.GetFileName(entry)));
        }
        found.Sort();
        return which == "all" ? found : found.GetRange(int.Parse(which), 1);
    }

    static void Connect(int number)
    {
        var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(number);
        for (int i = 0; i < number; i++)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            socket.Connect(listener.LocalEndPoint);
            ours.Add(socket);
            peers.Add(listener.Accept());
        }
    }

    static int Main(string[] args)
    {
        Console.WriteLine("ready");
        Console.ReadLine();
        int replaced = 0;
        switch (args[0])
        {
            case "low":
                for (int fd = int.Parse(args[1]); fd < 100; fd++) close(fd);
                Connect(Connections);
                break;
            case "sockets":
                var found = Sockets(args[1]);
                Connect(found.Count);
                for (int i = 0; i < found.Count; i++)
                    if (dup2((int)ours[i].Handle, found[i]) == found[i]) replaced++;
                break;
            case "files":
                foreach (int fd in Sockets(args[1]))
                {
                    var file = new FileStream(args[2] + replaced, FileMode.Create, FileAccess.ReadWrite);
                    files.Add(file);
                    if (dup2((int)file.SafeFileHandle.DangerousGetHandle(), fd) == fd) replaced++;
                }
                break;
        }
        // Time for many samples, and for requests that somebody else might read.
        Thread.Sleep(300);
        int foreign = 0, stolen = 0, closed = 0;
        foreach (var socket in ours) foreign += socket.Available;
        foreach (var socket in peers) foreign += socket.Available;
        foreach (var socket in peers) socket.Send(System.Text.Encoding.ASCII.GetBytes(Letter));
        Thread.Sleep(300);
        for (int i = 0; i < ours.Count; i++)
        {
            stolen += Letter.Length - ours[i].Available;
            try { ours[i].Send(new byte[1]); } catch (SocketException) { closed++; }
        }
        Console.WriteLine("replaced {0} foreign {1} stolen {2} closed {3}", replaced, foreign, stolen, closed);
        return foreign + stolen + closed == 0 ? 0 : 1;
    }
}
