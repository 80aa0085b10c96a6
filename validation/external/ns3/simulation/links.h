// Links, their queues and their addresses.
#pragma once

#include "captures.h"

#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sstream>
#include <string>

using namespace ns3;

inline NetDeviceContainer
Link(Ptr<Node> one, Ptr<Node> other, double megabits, double milliseconds)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(megabits * 1e6))));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(int64_t(milliseconds * 1000))));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("2p"));
    return link.Install(one, other);
}

// "red:MaxSize=100p;MinTh=10" and such.
inline Ptr<QueueDisc>
InstallQueue(const std::string& text, Ptr<NetDevice> device)
{
    std::vector<std::string> parts = Split(text, ':');
    ObjectFactory factory;
    TrafficControlHelper helper;
    factory.SetTypeId("ns3::" + parts[0]);
    for (const std::string& pair : Split(parts.size() > 1 ? parts[1] : "", ';'))
    {
        std::vector<std::string> words = Split(pair, '=');
        factory.Set(words[0], StringValue(words[1]));
    }
    Ptr<QueueDisc> queue = factory.Create<QueueDisc>();
    Ptr<TrafficControlLayer> layer = device->GetNode()->GetObject<TrafficControlLayer>();
    layer->SetRootQueueDiscOnDevice(device, queue);
    return queue;
}

inline Ipv4InterfaceContainer
Number(NetDeviceContainer devices)
{
    static int count = 0;
    count++;
    std::ostringstream base;
    base << "10.1." << count << ".0";
    Ipv4AddressHelper helper;
    helper.SetBase(base.str().c_str(), "255.255.255.0");
    return helper.Assign(devices);
}

inline void
SetRate(NetDeviceContainer devices, double megabits)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        DynamicCast<PointToPointNetDevice>(devices.Get(i))
            ->SetDataRate(DataRate(uint64_t(megabits * 1e6)));
    }
}

inline void
SetDelay(Ptr<Channel> channel, double milliseconds)
{
    channel->SetAttribute("Delay", TimeValue(MicroSeconds(int64_t(milliseconds * 1000))));
}
