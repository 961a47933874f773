using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Text;
using System.Threading;

namespace Payfurl.Mockserver
{
    /// <summary>A control call was refused, a test did something wrong, or no server could be had.</summary>
    public sealed class MockserverError : Exception
    {
        public MockserverError(string message, Exception cause = null) : base(message, cause)
        {
        }
    }

    /// <summary>A mockserver that ends with this process, or the running one that MOCKSERVER_URL names.</summary>
    public sealed class Server
    {
        /// <summary>Major and minor version of the server that this client was made for.</summary>
        public const string Version = "0.1";

        private const int StartMilliseconds = 30000;
        private const string HowToGetIt = "Get it: pipx install /path/to/mockserver, its checkout or its wheel (needs Python 3.11 or later). "
            + "MOCKSERVER_COMMAND names another command, MOCKSERVER_URL a server that runs already.";

        private static readonly Lazy<Server> shared = new Lazy<Server>(() =>
        {
            var url = Environment.GetEnvironmentVariable("MOCKSERVER_URL");
            return string.IsNullOrWhiteSpace(url) ? Start() : Join(url.Trim());
        });

        // No proxy reaches a server of this machine.
        private readonly HttpClient http = new HttpClient(new HttpClientHandler { UseProxy = false });
        private readonly StringBuilder log;

        private Server(string url, Process process, StringBuilder log)
        {
            Url = url;
            Process = process;
            this.log = log;
        }

        /// <summary>The server of this process: it is started, or joined, when it is first asked for.</summary>
        public static Server Shared => shared.Value;

        /// <summary>The address, without a slash at its end.</summary>
        public string Url { get; }

        /// <summary>The process of a server that was started here, else null.</summary>
        public Process Process { get; }

        /// <summary>Whether it was there before.</summary>
        public bool Joined => Process == null;

        /// <summary>One request: status and body.</summary>
        public Tuple<int, string> Send(string method, string path, IDictionary<string, string> headers, string kind, string body)
        {
            var request = new HttpRequestMessage(new HttpMethod(method), Url + path);
            foreach (var header in headers) request.Headers.Add(header.Key, header.Value);
            if (body != null) request.Content = new StringContent(body, Encoding.UTF8, kind);
            try
            {
                using (var answer = http.SendAsync(request).GetAwaiter().GetResult())
                {
                    return Tuple.Create((int)answer.StatusCode, answer.Content.ReadAsStringAsync().GetAwaiter().GetResult());
                }
            }
            catch (HttpRequestException problem)
            {
                throw new MockserverError(Lost(problem.GetBaseException()), problem);
            }
        }

        private string Lost(Exception problem)
        {
            return Joined
                ? "no mockserver answers at " + Url + " (MOCKSERVER_URL): " + problem.Message
                : "the mockserver has ended or does not answer: " + problem.Message + "\n" + log;
        }

        /// <summary>Starts a server with options of <c>mockserver serve</c> on a free port and waits until it is ready.</summary>
        public static Server Start(params string[] options)
        {
            var command = Environment.GetEnvironmentVariable("MOCKSERVER_COMMAND");
            // An empty one names no command, as if it were not set.
            var words = (string.IsNullOrWhiteSpace(command) ? "mockserver" : command).Split(new[] { ' ' }, StringSplitOptions.RemoveEmptyEntries);
            var folder = Path.Combine(Path.GetTempPath(), "mockserver-" + Guid.NewGuid().ToString("N"));
            Directory.CreateDirectory(folder);
            var port = Path.Combine(folder, "port");
            var all = words.Skip(1).Concat(new[] { "serve", "--tether", "--port", "0", "--port-file", port }).Concat(options);
            // Its standard input is a pipe: when this process ends, however that is, it closes and the server stops.
            var start = new ProcessStartInfo(words[0], string.Join(" ", all.Select(word => "\"" + word + "\"")))
            {
                UseShellExecute = false, RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true,
            };
            foreach (var name in start.EnvironmentVariables.Keys.Cast<string>().Where(name => name.ToUpperInvariant().StartsWith("MOCKSERVER_")).ToList())
                start.EnvironmentVariables.Remove(name);
            var log = new StringBuilder();
            Process process;
            try
            {
                process = Process.Start(start);
            }
            catch (System.ComponentModel.Win32Exception problem)
            {
                throw new MockserverError("cannot start " + words[0] + ": " + problem.Message + ". " + HowToGetIt, problem);
            }
            DataReceivedEventHandler keep = (_, line) => { lock (log) log.AppendLine(line.Data); };
            process.OutputDataReceived += keep;
            process.ErrorDataReceived += keep;
            process.BeginOutputReadLine();
            process.BeginErrorReadLine();
            EventHandler stop = (_, __) => { try { process.Kill(); } catch (InvalidOperationException) { } };
            AppDomain.CurrentDomain.ProcessExit += stop;
            AppDomain.CurrentDomain.DomainUnload += stop;
            for (var waited = 0; waited < StartMilliseconds && !process.HasExited; waited += 10)
            {
                if (File.Exists(port) && File.ReadAllText(port).Trim().Length > 0)
                    return new Server("http://127.0.0.1:" + File.ReadAllText(port).Trim(), process, log);
                Thread.Sleep(10);
            }
            throw new MockserverError(words[0] + " did not start: " + log);
        }

        /// <summary>Joins a server that runs already.</summary>
        public static Server Join(string url)
        {
            var server = new Server(url.TrimEnd('/'), null, new StringBuilder());
            var text = server.Send("GET", "/healthz", new Dictionary<string, string>(), null, null).Item2;
            var found = Json.Read(text) is IDictionary<string, object> map && map.ContainsKey("version") ? (string)map["version"] : null;
            if (found != null && (found + ".").StartsWith(Version + ".", StringComparison.Ordinal)) return server;
            var what = found == null ? "no mockserver, or an old one," : "mockserver " + found;
            throw new MockserverError(what + " answers at " + url + " (MOCKSERVER_URL), wanted version " + Version + ": stop it, or update it");
        }
    }
}
