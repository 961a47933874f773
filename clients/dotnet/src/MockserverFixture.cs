using System;
using System.Collections.Generic;
using System.Linq;
using NUnit.Framework;

namespace Payfurl.Mockserver
{
    /// <summary>A class of NUnit tests, each with a sandbox of its own in <see cref="Mockserver"/>.</summary>
    public abstract class MockserverFixture
    {
        private static readonly Dictionary<string, int> runs = new Dictionary<string, int>();

        /// <summary>The sandbox of the test that runs.</summary>
        protected Sandbox Mockserver { get; private set; }

        private MockserverAttribute Options
        {
            get
            {
                // A test case has its arguments behind its name.
                var name = TestContext.CurrentContext.Test.Name.Split('(')[0];
                var methods = GetType().GetMethods().Where(one => one.Name == name);
                return (MockserverAttribute)methods.SelectMany(one => one.GetCustomAttributes(typeof(MockserverAttribute), true))
                    .Concat(GetType().GetCustomAttributes(typeof(MockserverAttribute), true)).FirstOrDefault()
                    ?? new MockserverAttribute();
            }
        }

        [SetUp]
        public void OpenSandbox()
        {
            var test = TestContext.CurrentContext.Test.FullName;
            lock (runs) runs[test] = runs.TryGetValue(test, out var before) ? before + 1 : 1;
            Mockserver = null;
            Mockserver = Sandbox.Open(Server.Shared, test + " " + runs[test], Options);
        }

        [TearDown]
        public void JudgeSandbox()
        {
            if (Mockserver == null) return;
            var problem = HasFailed ? "" : Wrong();
            if (problem != null) throw new MockserverError(problem + "\n\nmockserver " + Mockserver.ReportOrWhyNot());
        }

#if NUNIT3
        private static bool HasFailed => TestContext.CurrentContext.Result.Outcome.Status == NUnit.Framework.Interfaces.TestStatus.Failed;
#else
        private static bool HasFailed => TestContext.CurrentContext.Result.Status == TestStatus.Failed;
#endif

        private string Wrong()
        {
            try
            {
                var options = Options;
                if (options.Books != null)
                    Mockserver.Books((IEnumerable<IDictionary<string, object>>)GetType().GetMethod(options.Books).Invoke(this, null));
                Mockserver.End(options);
                return null;
            }
            catch (MockserverError problem)
            {
                return problem.Message;
            }
        }
    }
}
