using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

namespace Payfurl.Mockserver
{
    /// <summary>What the sandbox of a test begins with and is judged by; on the method of a test, or its class.</summary>
    [AttributeUsage(AttributeTargets.Method | AttributeTargets.Class)]
    public sealed class MockserverAttribute : Attribute
    {
        /// <summary>YAML text, the path of a file, or the name of a shipped scenario.</summary>
        public string Scenario { get; set; }

        /// <summary>documented or sdk.</summary>
        public string Profile { get; set; }

        /// <summary>real, manual, or the instant at which it stands.</summary>
        public string Clock { get; set; }

        /// <summary>Findings that the test may have.</summary>
        public string[] Allow { get; set; } = new string[0];

        /// <summary>The least severity that fails the test: off, note, warning, error.</summary>
        public string Findings { get; set; } = "error";

        /// <summary>The method of the test class that gives the shop's books when the test has ended.</summary>
        public string Books { get; set; }
    }

    /// <summary>One sandbox of a server: what a test asks for, each a call of the documented control API.</summary>
    public sealed class Sandbox
    {
        private readonly List<string> invariants = new List<string>();
        private bool judged;

        public Sandbox(Server server, string secretKey)
        {
            Server = server;
            SecretKey = secretKey;
            Clock = new SandboxClock(this);
            Inbox = new SandboxInbox(this);
        }

        public Server Server { get; }

        public string Url => Server.Url;

        public string SecretKey { get; }

        public string PublicKey => "pk_" + SecretKey.Substring("sk_".Length);

        public SandboxClock Clock { get; }

        public SandboxInbox Inbox { get; }

        /// <summary>The sandbox of a test: the same key in every run, so that its ids are too.</summary>
        public static Sandbox Open(Server server, string test, MockserverAttribute options)
        {
            Levels.RefuseUnknown(options.Findings);
            using (var sha = SHA256.Create())
            {
                var digest = string.Concat(sha.ComputeHash(Encoding.UTF8.GetBytes(test)).Select(one => one.ToString("x2")));
                var sandbox = new Sandbox(server, "sk_test_" + digest.Substring(0, 32));
                if (server.Joined) sandbox.Call("POST", "/__admin/reset?scenario=true");
                if (options.Profile != null) sandbox.Assume(new Dictionary<string, object> { ["profile"] = options.Profile });
                if (options.Scenario != null) sandbox.Scenario(options.Scenario);
                if (options.Clock != null) sandbox.Clock.Start(options.Clock);
                return sandbox;
            }
        }

        /// <summary>A test in any framework: a sandbox of its own, judged and reported. <c>test</c> is its name.</summary>
        public static void Run(string test, MockserverAttribute options, Action<Sandbox> body)
        {
            var sandbox = Open(Server.Shared, test, options);
            try
            {
                body(sandbox);
                sandbox.End(options);
            }
            catch (Exception problem)
            {
                throw new MockserverError(problem.Message + "\n\nmockserver " + sandbox.ReportOrWhyNot(), problem);
            }
        }

        /// <summary>A control call, or one of the payments API; what it answers.</summary>
        public object Call(string method, string path, object body = null)
        {
            return Done(method, path, Send(method, path, "application/json", method == "GET" ? null : Json.Write(body ?? new Dictionary<string, object>())));
        }

        private static object Done(string method, string path, Tuple<int, string> answer)
        {
            if (answer.Item1 < 300) return Parsed(answer.Item2);
            throw new MockserverError(method + " " + path + " answered " + answer.Item1 + ": " + Words(Parsed(answer.Item2)));
        }

        private Tuple<int, string> Send(string method, string path, string kind, string body)
        {
            return Server.Send(method, path, new Dictionary<string, string> { ["x-secretkey"] = SecretKey }, kind, body);
        }

        /// <summary>Puts a scenario in force in the place of all others: YAML text, the path of a file, or a shipped name.</summary>
        public void Scenario(string given)
        {
            const string path = "/__admin/scenarios";
            if (given.Contains("\n") || given.Contains(": ")) Done("PUT", path, Send("PUT", path, "application/yaml", given));
            else if (File.Exists(given)) Done("PUT", path, Send("PUT", path, "application/yaml", File.ReadAllText(given)));
            else if (Path.HasExtension(given)) throw new MockserverError("no scenario file " + given + " in " + Directory.GetCurrentDirectory());
            else Call("PUT", path, new Dictionary<string, object> { ["shipped"] = given });
        }

        /// <summary>Overrides assumptions, such as vault.ccv_delay.</summary>
        public void Assume(IDictionary<string, object> overrides)
        {
            Call("PUT", "/__admin/assumptions", overrides);
        }

        /// <summary>Waits until all conditions hold; with <c>within</c> it moves the clock no further than that.</summary>
        public void WaitFor(IDictionary<string, object> conditions, string timeout = null, string within = null)
        {
            var body = new Dictionary<string, object> { ["for"] = conditions, ["advance"] = within != null };
            if (timeout != null) body["timeout"] = timeout;
            if (within != null) body["within"] = within;
            var answer = Map(Call("POST", "/__admin/wait", body));
            if (true.Equals(answer["held"])) return;
            var reasons = Map(answer["why"]).Select(one => one.Key + ": " + one.Value);
            throw new MockserverError(string.Join("; ", reasons.Concat(answer.ContainsKey("hint") ? new[] { (string)answer["hint"] } : new string[0])));
        }

        /// <summary>Checks how often an operation was asked for, with a <c>where</c> such as request.reference.</summary>
        public void Verify(string operation, int count, IDictionary<string, object> where = null)
        {
            var request = new Dictionary<string, object> { ["op"] = operation, ["count"] = count, ["where"] = where ?? new Dictionary<string, object>() };
            var answer = Send("POST", "/__admin/verify", "application/json", Json.Write(new Dictionary<string, object> { ["requests"] = new[] { request }, ["rules"] = true }));
            judged |= answer.Item1 == 409;
            if (answer.Item1 != 200) throw new MockserverError(Words(Parsed(answer.Item2)));
        }

        /// <summary>Compares what the shop believes, rows of reference and paid, with what was paid.</summary>
        public void Books(IEnumerable<IDictionary<string, object>> rows)
        {
            var found = Map(Call("POST", "/__admin/books/compare", new Dictionary<string, object> { ["rows"] = rows.ToList() }));
            var wrong = Maps(found["findings"]).Where(row => "error".Equals(row["severity"]))
                .Select(row => row["finding"] + ": " + Maps(row["evidence"]).First()["line"]).ToList();
            if (wrong.Count > 0) throw new MockserverError(string.Join("\n", wrong));
        }

        /// <summary>A sentence that must hold of the money when the test ends, such as net("order-1") &lt;= 20.</summary>
        public void Invariant(string sentence)
        {
            invariants.Add(sentence);
        }

        /// <summary>What the client did wrong, of at least a severity: note, warning or error.</summary>
        public IList<IDictionary<string, object>> Findings(string severity = "note")
        {
            return Maps(Map(Call("GET", "/__admin/findings?severity=" + severity))["findings"]);
        }

        /// <summary>The newest steps of the journal of an operation, oldest first.</summary>
        public IList<IDictionary<string, object>> Journal(string operation)
        {
            return Maps(Map(Call("GET", "/__admin/journal?limit=1000&op=" + Uri.EscapeDataString(operation)))["entries"]);
        }

        /// <summary>Every rule with its counters.</summary>
        public IList<IDictionary<string, object>> Rules()
        {
            return Maps(Map(Call("GET", "/__admin/rules"))["rules"]);
        }

        /// <summary>Empties this sandbox; its scenario stays.</summary>
        public void Reset()
        {
            Call("POST", "/__admin/reset");
        }

        /// <summary>Timeline, findings and books of this sandbox, as text.</summary>
        public string Report()
        {
            return (string)Call("GET", "/__admin/report");
        }

        internal string ReportOrWhyNot()
        {
            try
            {
                return Report();
            }
            catch (MockserverError problem)
            {
                return problem.Message;
            }
        }

        /// <summary>Ends the test. Throws for unmet expectations, broken invariants and findings.</summary>
        public void End(MockserverAttribute options)
        {
            Levels.RefuseUnknown(options.Findings);
            if (options.Findings == "off" && judged && invariants.Count == 0) return;
            var body = new Dictionary<string, object> { ["rules"] = !judged, ["money"] = invariants, ["allow"] = options.Allow };
            if (options.Findings != "off")
            {
                body["finish"] = true;
                body["findings"] = options.Findings == "note" ? "none" : options.Findings;
            }
            var answer = Send("POST", "/__admin/verify", "application/json", Json.Write(body));
            if (answer.Item1 != 200) throw new MockserverError(Words(Parsed(answer.Item2)));
        }

        internal static IDictionary<string, object> Map(object value)
        {
            return (IDictionary<string, object>)value;
        }

        internal static IList<IDictionary<string, object>> Maps(object value)
        {
            return ((IEnumerable<object>)value).Cast<IDictionary<string, object>>().ToList();
        }

        private static object Parsed(string text)
        {
            try
            {
                return Json.Read(text);
            }
            catch (FormatException)
            {
                return text;
            }
        }

        private static string Words(object body)
        {
            if (!(body is IDictionary<string, object> map)) return body?.ToString();
            if (map.ContainsKey("differences")) return string.Join("\n", (IEnumerable<object>)map["differences"]);
            var details = map.ContainsKey("details") && map["details"] is IDictionary<string, object> named ? named : new Dictionary<string, object>();
            return string.Join("\n", new[] { map["message"].ToString() }.Concat(details.Select(one => one.Key + ": " + one.Value)));
        }
    }

    /// <summary>The clock of a sandbox. Durations are texts such as 1h30m.</summary>
    public sealed class SandboxClock
    {
        private readonly Sandbox sandbox;

        internal SandboxClock(Sandbox sandbox)
        {
            this.sandbox = sandbox;
        }

        public DateTime Now => Instant(sandbox.Call("GET", "/__admin/clock"));

        public DateTime Advance(string by)
        {
            return Moved("by", by);
        }

        public DateTime To(DateTime to)
        {
            return Moved("to", to.ToUniversalTime().ToString("o"));
        }

        /// <summary>Stands still from now on.</summary>
        public DateTime Freeze()
        {
            return Instant(sandbox.Call("PUT", "/__admin/clock", new Dictionary<string, object> { ["mode"] = "manual" }));
        }

        internal void Start(string given)
        {
            var clock = new Dictionary<string, object> { ["mode"] = "manual", ["start"] = given };
            if (new[] { "real", "manual", "fast" }.Contains(given)) clock = new Dictionary<string, object> { ["mode"] = given };
            sandbox.Call("POST", "/__admin/scenarios", new Dictionary<string, object> { ["version"] = 1, ["name"] = "clock-of-the-test", ["clock"] = clock });
        }

        private DateTime Moved(string name, string value)
        {
            var moved = Sandbox.Map(sandbox.Call("POST", "/__admin/clock/advance", new Dictionary<string, object> { [name] = value }));
            if (moved.ContainsKey("hint")) throw new MockserverError((string)moved["hint"]);
            return Instant(moved);
        }

        private static DateTime Instant(object clock)
        {
            return DateTime.Parse((string)Sandbox.Map(clock)["now"], CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind);
        }
    }

    /// <summary>The built-in receiver of webhooks.</summary>
    public sealed class SandboxInbox
    {
        private readonly Sandbox sandbox;

        internal SandboxInbox(Sandbox sandbox)
        {
            this.sandbox = sandbox;
        }

        /// <summary>The address to give as a webhook's url.</summary>
        public string Url(string name = "inbox")
        {
            // A public key opens no sandbox.
            sandbox.Assume(new Dictionary<string, object>());
            return sandbox.Url + "/__inbox/" + Uri.EscapeDataString(name) + "?publicKey=" + sandbox.PublicKey;
        }

        /// <summary>What has arrived, in order.</summary>
        public IList<IDictionary<string, object>> Messages(string name = "inbox")
        {
            return Sandbox.Maps(Sandbox.Map(sandbox.Call("GET", "/__admin/inbox/" + Uri.EscapeDataString(name)))["messages"]);
        }

        /// <summary>Forgets what has arrived.</summary>
        public void Clear(string name = "inbox")
        {
            sandbox.Call("DELETE", "/__admin/inbox/" + Uri.EscapeDataString(name));
        }
    }
}
