// One simulated TCP transfer between two hosts over two routers, captured at three points.
//
//   sender -- access -- A -- bottleneck -- B -- exit -- receiver     cross hosts hang on A and on B
//
// Everything is given as --name=value by the Python side, which knows what the values mean; what
// happened is printed as one JSON object. The captures hold the first bytes of every packet that
// the interface carried, as raw IP (link type 101) or as ns-3 writes them itself, in PPP (9).
// Hosts never stall here: every pause has its cause in an application, in a window or on the path.
#include "captures.h"
#include "gauge.h"
#include "links.h"
#include "settings.h"
#include "transfer.h"
#include "trouble.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

const std::string WIDE = "FifoQueueDisc:MaxSize=1000p";

TypeIdValue
CongestionControl(const std::string& name)
{
    return TypeIdValue(TypeId::LookupByName("ns3::" + name));
}

void
SetDefaults(const Settings& of)
{
    RngSeedManager::SetSeed(20);
    RngSeedManager::SetRun(of.seed);
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", CongestionControl(of.tcp));
    const std::string base = "ns3::TcpSocketBase::", socket = "ns3::TcpSocket::";
    Config::SetDefault(base + "Sack", BooleanValue(of.sack));
    Config::SetDefault(base + "Timestamp", BooleanValue(true));
    Config::SetDefault(base + "MinRto", TimeValue(Seconds(of.minRto)));
    Config::SetDefault(base + "UseEcn", StringValue(of.ecn ? "On" : "Off"));
    Config::SetDefault(socket + "SegmentSize", UintegerValue(of.plan.mss));
    Config::SetDefault(socket + "InitialCwnd", UintegerValue(10));
    Config::SetDefault(socket + "DelAckCount", UintegerValue(of.delayedAcks));
    Config::SetDefault(socket + "DelAckTimeout", TimeValue(Seconds(of.delayedAckTimeout)));
    Config::SetDefault(socket + "PersistTimeout", TimeValue(Seconds(0.2)));
    Config::SetDefault(socket + "ConnTimeout", TimeValue(Seconds(1)));
}

// What happens to the bottleneck at given times.
void
ScheduleChanges(const Settings& of,
                NetDeviceContainer narrow,
                Ptr<Trouble> there,
                Ptr<Trouble> back)
{
    for (const auto& step : Rows(of.rateSteps))
    {
        Simulator::Schedule(Seconds(step[0]), &SetRate, narrow, step[1]);
    }
    for (const auto& step : Rows(of.delaySteps))
    {
        Simulator::Schedule(Seconds(step[0]), &SetDelay, narrow.Get(0)->GetChannel(), step[1]);
    }
    for (const auto& outage : Rows(of.outages))
    {
        for (Ptr<Trouble> each : {there, back})
        {
            Simulator::Schedule(Seconds(outage[0]), &Trouble::SetDown, each, true);
            Simulator::Schedule(Seconds(outage[0] + outage[1]), &Trouble::SetDown, each, false);
        }
    }
}

Ptr<Trouble>
TroubleThere(const Settings& of, Ptr<NetDevice> device, Ipv4Address watched)
{
    Ptr<Trouble> there = CreateObject<Trouble>();
    there->loss = of.loss;
    there->badShare = of.badShare;
    there->badLength = of.badLength;
    there->reorder = of.reorder;
    there->heldSeconds = of.held;
    there->jitterSeconds = of.jitter;
    there->policedRate = of.policedRate * 1e6 / 8;
    there->policedBurst = of.policedBurst;
    there->watched = watched;
    there->Attach(device);
    return there;
}

Ptr<Trouble>
TroubleBack(const Settings& of, Ptr<NetDevice> device, Ipv4Address watched)
{
    Ptr<Trouble> back = CreateObject<Trouble>();
    back->loss = of.ackLoss;
    back->watched = watched;
    back->Attach(device);
    return back;
}

struct Host
{
    Ptr<Node> node;
    Ipv4Address address;
};

// A host on either side of the bottleneck, for other traffic.
struct Pair
{
    Host left;
    Host right;
};

Pair
Install(uint32_t number, Ptr<Node> a, Ptr<Node> b, Ptr<Node> left, Ptr<Node> right)
{
    NetDeviceContainer toA = Link(left, a, 1000, 1 + 3 * number);
    NetDeviceContainer toB = Link(b, right, 1000, 1 + 2 * number);
    for (NetDeviceContainer both : {toA, toB})
    {
        InstallQueue(WIDE, both.Get(0));
        InstallQueue(WIDE, both.Get(1));
    }
    Ipv4Address first = Number(toA).GetAddress(0);
    return {{left, first}, {right, Number(toB).GetAddress(1)}};
}

void
SendUdp(const Pair& pair, const std::vector<double>& row)
{
    PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
    sink.Install(pair.right.node);
    OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(pair.right.address, 9));
    source.SetAttribute("DataRate", DataRateValue(DataRate(uint64_t(row[2] * 1e6))));
    source.SetAttribute("PacketSize", UintegerValue(1200));
    for (int i = 0; i < 2; i++)
    {
        Ptr<ExponentialRandomVariable> time = CreateObject<ExponentialRandomVariable>();
        time->SetAttribute("Mean", DoubleValue(row[3 + i]));
        source.SetAttribute(i == 0 ? "OnTime" : "OffTime", PointerValue(time));
    }
    ApplicationContainer apps = source.Install(pair.left.node);
    apps.Start(Seconds(row[0]));
    apps.Stop(Seconds(row[1]));
}

void
SendTcp(const Host& from,
        const Host& to,
        const std::string& control,
        const std::vector<double>& row)
{
    std::ostringstream path;
    path << "/NodeList/" << from.node->GetId() << "/$ns3::TcpL4Protocol/SocketType";
    Config::Set(path.str(), CongestionControl(control));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(uint32_t(row[2])));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8000000));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 7));
    sink.Install(to.node).Start(Seconds(0.05));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to.address, 7));
    source.SetAttribute("SendSize", UintegerValue(16384));
    ApplicationContainer apps = source.Install(from.node);
    apps.Start(Seconds(row[0]));
    apps.Stop(Seconds(row[1]));
}

void
SendOthers(const Settings& of, const std::vector<Pair>& pairs)
{
    auto pair = pairs.begin();
    for (const auto& row : Rows(of.udp))
    {
        SendUdp(*pair++, row);
    }
    for (const auto& row : Rows(of.crossTcp))
    {
        SendTcp(pair->left, pair->right, of.crossCongestion, row);
        pair++;
    }
    for (; pair != pairs.end(); pair++)
    {
        SendTcp(pair->right, pair->left, of.crossCongestion, {0.2, of.stop, 4e6});
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    const Settings of(argc, argv);
    SetDefaults(of);
    uint32_t others = Rows(of.udp).size() + Rows(of.crossTcp).size() + of.reverseTcp;
    NodeContainer nodes(4 + 2 * others);
    Ptr<Node> sender = nodes.Get(0), a = nodes.Get(1), b = nodes.Get(2), receiver = nodes.Get(3);
    InternetStackHelper stack;
    stack.Install(nodes);

    NetDeviceContainer access = Link(sender, a, of.accessRate, of.accessDelay);
    NetDeviceContainer narrow = Link(a, b, of.rate, of.delay);
    NetDeviceContainer exit = Link(b, receiver, of.exitRate, of.exitDelay);
    Ptr<QueueDisc> queueOfSender = InstallQueue(of.senderQueue, access.Get(0));
    InstallQueue(WIDE, access.Get(1));
    Ptr<QueueDisc> queueThere = InstallQueue(of.queue, narrow.Get(0));
    Ptr<QueueDisc> queueBack = InstallQueue(of.reverseQueue, narrow.Get(1));
    InstallQueue(WIDE, exit.Get(0));
    InstallQueue(WIDE, exit.Get(1));
    Ipv4Address from = Number(access).GetAddress(0);
    Number(narrow);
    Ipv4Address to = Number(exit).GetAddress(1);

    std::vector<Pair> pairs;
    for (uint32_t i = 0; i < others; i++)
    {
        pairs.push_back(Install(i, a, b, nodes.Get(4 + 2 * i), nodes.Get(5 + 2 * i)));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Ptr<Trouble> there = TroubleThere(of, narrow.Get(1), from);
    Ptr<Trouble> back = TroubleBack(of, narrow.Get(0), to);
    ScheduleChanges(of, narrow, there, back);
    SendOthers(of, pairs);

    const bool isRaw = of.link == "raw";
    Ptr<NetDevice> middle = of.middle == "in" ? access.Get(1) : exit.Get(0);
    Tap atSender(of.prefix + ".sender.pcap", access.Get(0), isRaw, of.snap);
    Tap atMiddle(of.prefix + ".middle.pcap", middle, isRaw, of.snap);
    Tap atReceiver(of.prefix + ".receiver.pcap", exit.Get(1), isRaw, of.snap);
    Transfer transfer(of.plan, sender, receiver, to, from);
    Gauge gauge(transfer, queueThere, queueBack, narrow.Get(0), from);
    Simulator::Stop(Seconds(of.stop));
    Simulator::Run();
    for (Tap* tap : {&atSender, &atMiddle, &atReceiver})
    {
        tap->Close();
    }
    std::cout << "{" << transfer.Report() << "," << gauge.Report() << "," << there->Report()
              << ",\"acks_lost\":" << back->lost
              << ",\"sender_drops\":" << queueOfSender->GetStats().nTotalDroppedPackets
              << ",\"over\":" << (transfer.IsOver() ? "true" : "false") << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
