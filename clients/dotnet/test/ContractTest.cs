using System;
using System.CodeDom.Compiler;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Text;
using System.Threading;
using Microsoft.CSharp;
using NUnit.Framework;
using Payfurl.Mockserver;

/// <summary>The situations of ../../contract.yaml.</summary>
[TestFixture]
public class ContractTest : MockserverFixture
{
    private const string Declined = "version: 1\nrules: [{id: no-money, when: {op: charge.create}, then: {decline: insufficient_funds}}]\n";
    private const string Lost = "version: 1\nrules: [{id: lost, when: {op: charge.create, call: 1}, then: {transport: {at: answer, reset: true}}}]\n";
    private const string Expecting = "version: 1\nrules: [{id: never-asked, when: {op: charge.capture}, then: {decline: do_not_honour}, expect: {min: 1}}]\n";

    private static Dictionary<string, object> Of(params object[] pairs)
    {
        return Enumerable.Range(0, pairs.Length / 2).ToDictionary(one => (string)pairs[2 * one], one => pairs[2 * one + 1]);
    }

    /// <summary>What the shop under test does: one request of its own.</summary>
    private IDictionary<string, object> Pay(string reference, object webhook = null)
    {
        var body = Of("amount", 20, "currency", "AUD", "reference", reference, "providerId", "a26c371f-94f6-40da-add2-28ec8e9da8ed",
            "paymentInformation", Of("cardNumber", "4111111111111111", "expiryDate", "12/40", "ccv", "123"));
        if (webhook != null) body["webhook"] = webhook;
        using (var http = new HttpClient())
        {
            http.DefaultRequestHeaders.Add("x-secretkey", Mockserver.SecretKey);
            try
            {
                var content = new StringContent(Json.Write(body), Encoding.UTF8, "application/json");
                var text = http.PostAsync(Mockserver.Url + "/charge/card", content).Result.Content.ReadAsStringAsync().Result;
                return (IDictionary<string, object>)Json.Read(text);
            }
            catch (AggregateException)
            {
                return null;
            }
        }
    }

    private void PayTwice()
    {
        if (Pay("order-1") == null) Pay("order-1");
    }

    [Test]
    public void TwoTestsSeeNothingOfEachOther()
    {
        Pay("order-1");
        Assert.AreEqual(1m, ((IDictionary<string, object>)Mockserver.Call("GET", "/charge?Reference=order-1"))["count"]);
    }

    [Test]
    public void AndNeitherDoesTheOther()
    {
        TwoTestsSeeNothingOfEachOther();
    }

    [Test, Mockserver(Scenario = Declined)]
    public void AScenarioIsChosenByAnnotation()
    {
        Assert.AreEqual(15m, Pay("order-1")["code"]);
        Assert.AreEqual(1m, Mockserver.Rules().First(rule => "no-money".Equals(rule["id"]))["hits"]);
    }

    [TestCase("order-2"), Mockserver(Scenario = Declined)]
    public void AndSoIsThatOfACaseWithArguments(string reference)
    {
        Assert.AreEqual(15m, Pay(reference)["code"]);
    }

    [Test, Mockserver(Clock = "2031-03-01T00:00:00Z")]
    public void TheClockIsFrozenAndMoved()
    {
        Assert.AreEqual(new DateTime(2031, 3, 2, 12, 0, 0, DateTimeKind.Utc), Mockserver.Clock.Advance("36h"));
        Mockserver.Clock.To(new DateTime(2031, 3, 3, 0, 0, 0, DateTimeKind.Utc));
        Assert.AreEqual(new DateTime(2031, 3, 3, 0, 0, 0, DateTimeKind.Utc), Mockserver.Clock.Now);
    }

    [Test]
    public void AWebhookArrivesInTheInbox()
    {
        Pay("order-1", Of("url", Mockserver.Inbox.Url("shop")));
        Mockserver.WaitFor(Of("inbox", "shop"));
        Assert.AreEqual("valid", Mockserver.Inbox.Messages("shop")[0]["signature"]);
    }

    [Test, Mockserver(Scenario = "bank-charge-bounces")]
    public void WaitForAChargeMovingTheClock()
    {
        var charge = Pay("order-1")["chargeId"];
        Mockserver.WaitFor(Of("charge", Of("id", charge, "status", "SUCCESS")), within: "10d");
        var late = Assert.Throws<MockserverError>(() => Mockserver.WaitFor(Of("inbox", "nowhere"), "10ms"));
        StringAssert.Contains("inbox: ", late.Message);
    }

    [Test]
    public void VerifyWhatWasAsked()
    {
        Pay("order-1");
        Mockserver.Verify("charge.create", 1, Of("request.reference", "order-1"));
        var wrong = Assert.Throws<MockserverError>(() => Mockserver.Verify("charge.create", 2));
        StringAssert.Contains("wanted exactly 2, got 1", wrong.Message);
    }

    public IEnumerable<IDictionary<string, object>> Books()
    {
        return new[] { Of("reference", "order-1", "paid", 20) };
    }

    [Test, Mockserver(Books = "Books")]
    public void BooksThatAgreePass()
    {
        Pay("order-1");
    }

    [Test, Mockserver(Scenario = Lost, Allow = new[] { "double-charge", "blind-retry" })]
    public void AnAllowedFindingPasses()
    {
        PayTwice();
        Assert.AreEqual("double-charge", Mockserver.Findings("error").Single()["finding"]);
    }

    public IEnumerable<IDictionary<string, object>> OtherBooks()
    {
        return new[] { Of("reference", "order-books", "paid", 30) };
    }

    [Test, Mockserver(Books = "OtherBooks")]
    public void BooksThatDifferFailTheTest()
    {
        Pay("order-books");
    }

    [Test, Mockserver(Scenario = Lost)]
    public void AFindingFailsTheTest()
    {
        PayTwice();
    }

    [Test]
    public void AnInvariantThatIsBrokenFailsTheTest()
    {
        Mockserver.Invariant("net(*) <= 10");
        Pay("order-1");
    }

    [Test, Mockserver(Scenario = Expecting)]
    public void AnUnmetExpectationOfARuleFailsTheTest()
    {
    }

    [Test]
    public void AFailingTestOfAnotherSandbox()
    {
        Pay("order-of-another-test");
    }

    [Test]
    public void AFailingTestShowsItsTimelineAndNoOther()
    {
        Pay("order-of-this-test");
        Assert.AreEqual(1, 2);
    }

    [Test, Mockserver(Scenario = "version: 1\nrules:\n  - {id: x, when: {op: charge.creat}}\n")]
    public void AScenarioThatIsRefusedSaysItsLine()
    {
    }

    /// <summary>What the compiler says of a test of a shop whose attribute is misspelt.</summary>
    [Test]
    public void AnUnknownOptionIsRefused()
    {
        var shop = "[Payfurl.Mockserver.Mockserver(Scenaroi = \"sample-shop\")] public class ShopTest { }";
        var references = new[] { typeof(MockserverFixture).Assembly.Location, typeof(TestAttribute).Assembly.Location };
        using (var compiler = new CSharpCodeProvider())
        {
            var said = compiler.CompileAssemblyFromSource(new CompilerParameters(references) { GenerateInMemory = true }, shop);
            var words = string.Join("\n", said.Errors.Cast<CompilerError>().Select(one => one.ErrorText));
            Assert.IsEmpty(words.Replace("Scenaroi", "scenaroi"));
        }
    }

    [Test, Mockserver(Findings = "none")]
    public void AnUnknownLevelOfFindingsIsRefused()
    {
    }

    [Test]
    public void AServerThatDiesIsNamed()
    {
        if (Environment.GetEnvironmentVariable("CONTRACT_DIES") == null) Assert.Ignore("it ends the server of all tests");
        Mockserver.Server.Process.Kill();
        Mockserver.Server.Process.WaitForExit();
        Mockserver.Rules();
    }

    [Test]
    public void TheServerEndsWhenTheRunIsKilled()
    {
        if (Environment.GetEnvironmentVariable("CONTRACT_TELL") == null) Assert.Ignore("it waits to be killed");
        File.WriteAllText(Environment.GetEnvironmentVariable("CONTRACT_TELL"), Mockserver.Url);
        Thread.Sleep(60000);
    }
}
